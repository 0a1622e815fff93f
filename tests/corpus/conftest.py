"""What the corpus says at the end of a test run: how many of its functions run compiled, and why others do not."""

import corpus_report


def pytest_terminal_summary(terminalreporter):
    for line in corpus_report.lines():
        terminalreporter.write_line(line)
