"""Routines of procedures: functions that several places of a procedure call.

The variables that a routine and others use stand in memory, in an environment that all routines get. Those of a rare
routine stay in registers: it gets their values, and gives those that it has put.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from llvmlite import ir

from ..base.frozen import frozen, replaced
from ..ir.loops import Do, Get, Procedure, Put, Routine, Statement, Type, statements_within
from ..ir.verify import defined_in, uses
from .context import internal
from .scalar import value_type
from .statements import BYTES, WORDS, Statements

_I1 = ir.IntType(1)


@frozen(eq=False)
class Interface:
    """What a routine has in common with what runs it: the variables that it uses, and those of them that it puts."""

    variables: Mapping[str, Type]
    puts: list[str]


def interfaces(procedure: Procedure) -> dict[str, Interface]:
    """The interfaces of all routines of a procedure."""
    routines = {s.name: list(statements_within(s.body)) for s in procedure.body if isinstance(s, Routine)}
    rest = [s for s in procedure.body if not isinstance(s, Routine)]
    users: dict[str, set[str]] = {variable: {""} for variable, _ in procedure.results}
    for part, inside in {"": list(statements_within(rest)), **routines}.items():
        for variable in _variables(inside):
            users.setdefault(variable, set()).add(part)
    made: dict[str, Interface] = {}
    for name, inside in routines.items():
        shared = {v: t for v, t in _variables(inside).items() if len(users[v]) > 1}
        puts = {s.variable: None for s in inside if isinstance(s, Put) and s.variable in shared}
        for s in inside:
            if isinstance(s, Do):
                shared |= made[s.routine].variables
                puts |= dict.fromkeys(made[s.routine].puts)
        made[name] = Interface(shared, list(puts))
    return made


def _variables(inside: Iterable[Statement]) -> dict[str, Type]:
    return {s.variable: s.type for s in inside if isinstance(s, (Get, Put))}


class Routines:
    """The functions of the routines of the procedure that `outer` emits."""

    def __init__(self, outer: Statements):
        self.outer, self.interfaces = outer, interfaces(outer.procedure)
        self.code: dict[str, _Code] = {}
        rare = {s.name for s in outer.procedure.body if isinstance(s, Routine) and s.is_rare}
        shared = {v: t for name, i in self.interfaces.items() if name not in rare for v, t in i.variables.items()}
        self.places = {name: k for k, name in enumerate(shared)}
        self.environment = outer.builder.alloca(ir.LiteralStructType(list(map(_type, shared.values()))))
        outer.builder.store(ir.Constant(self.environment.type.pointee, None), self.environment)
        self.enter(outer, self.environment)

    def enter(self, where: Statements, environment: ir.Value) -> None:
        """Let the variables of the environment be those of a function."""
        where.environment = environment
        where.shared = self.places

    def emit(self, routine: Routine) -> None:
        self.code[routine.name] = _Code(self, routine)

    def run(self, where: Statements, s: Do) -> None:
        self.code[s.routine].run(where, s)


class _Code:
    """The function of one routine."""

    def __init__(self, routines: Routines, routine: Routine):
        self.routines, outer = routines, routines.outer
        inside = list(statements_within(routine.body))
        self.names = sorted({name for s in inside for name in uses(s)} - set(defined_in([routine, *inside])))
        interface = routines.interfaces[routine.name]
        self.values, self.puts = (interface.variables, interface.puts) if routine.is_rare else ({}, [])
        environment = [] if routine.is_rare else [routines.environment.type]
        outside = [outer.values[name].type for name in self.names]
        parameters = [_type(type_) for _, type_ in routine.parameters]
        types = [*environment, *parameters, *outside, *map(_type, self.values.values())]
        self.routine, self.is_rare = routine, routine.is_rare
        given = [*(self.values[name] for name in self.puts), *([routine.result[1]] if routine.result else [])]
        self.result = ir.LiteralStructType([_I1, *map(_type, given)])
        kind = ir.FunctionType(self.result, [WORDS, WORDS, *types])
        self.function = internal(outer.module, kind, f"{outer.function.name}.{routine.name}")
        if self.is_rare:
            self.function.attributes.add("optnone")  # not worth LLVM's time
        self.may_stop = self._emit(routine)

    def _emit(self, routine: Routine) -> bool:
        outer = self.routines.outer
        inner = Statements(outer.module, outer.procedure, self.function, replaced(outer.plan, leaves=None))
        inner.routines = self.routines
        builder, given = inner.builder, iter(self.function.args[2:])
        if not self.is_rare:
            self.routines.enter(inner, next(given))
        for name in (*(name for name, _ in routine.parameters), *self.names):
            inner.values[name] = next(given)
        for variable, value in zip(self.values.items(), given):
            builder.store(value, inner.variable(*variable))
        inner.block(routine.body)
        result: ir.Value = ir.Constant(self.result, None)
        made = [*((name, self.values[name]) for name in self.puts), *([routine.result] if routine.result else [])]
        for k, variable in enumerate(made):
            result = builder.insert_value(result, builder.load(inner.variable(*variable)), k + 1)
        builder.ret(result)
        if inner.stopped is None:
            return False
        builder.position_at_end(inner.stopped)
        builder.ret(builder.insert_value(ir.Constant(self.result, None), _I1(1), 0))
        return True

    def run(self, where: Statements, s: Do) -> None:
        builder = where.builder
        places = {variable[0]: where.variable(*variable) for variable in self.values.items()}
        given = [*(where.values[name] for name in (*s.args, *self.names)), *map(builder.load, places.values())]
        if not self.is_rare:
            given.insert(0, where.environment)
        made = builder.call(self.function, [where.function.args[0], where.workspace, *given])
        if self.may_stop:
            where.stop_if(builder.extract_value(made, 0))
        for k, name in enumerate(self.puts):
            builder.store(builder.extract_value(made, k + 1), places[name])
        if s.target:
            where.values[s.target] = builder.extract_value(made, len(self.puts) + 1)


def _type(type_: Type) -> ir.Type:
    return BYTES if isinstance(type_, str) else value_type(type_)
