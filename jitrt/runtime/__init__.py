"""Run time: programs, guards, frames, threads, and the interpreter that is their oracle."""
