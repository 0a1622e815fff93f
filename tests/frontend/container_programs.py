"""Random functions with loops that use deques, sets, dicts with keys of run time, heaps, sorted lists and tuples."""

import bisect
import heapq
from collections import Counter, defaultdict, deque

from staged_programs import Writer

NAMES = {
    "deque": deque, "Counter": Counter, "defaultdict": defaultdict, "heapq": heapq, "bisect": bisect,
}  # fmt: skip
HELPERS = """
def largest(*values, low=-9.0):
    best = low
    for v in values:
        if v > best:
            best = v
    return best
"""


class ContainerWriter(Writer):
    """Writes functions whose containers are `recent`, `seen`, `table`, `counts`, `sums`, `heap` and `ordered`."""

    def key(self):
        """A key that often was there before."""
        i, j = self.pick(self.integers), self.pick(self.integers)
        if self.pairs:
            return self.pick([f"({i}, {j})", f"({i} % 3, {j} % 2)", f"({i} % 2, int({self.number(0)}) % 3)"])
        return self.pick([f"{i}", f"{i} % 3", f"int({self.number(1)}) % 5", f"{i} * {j}", "c[0]", f"c[{i} % 4]"])

    def statement(self, depth):
        if self.chance(0.45):
            super().statement(depth)
            return
        e, k, i = self.number(1), self.key(), self.pick(self.integers)
        v, rank = self.pick(self.vectors), self.pick(["p[0]", "-p[1]", "p[1] % 2"])
        self.emit(
            depth,
            self.pick(
                [
                    f"recent.append({e})",
                    f"recent.append({e})",
                    f"recent.appendleft({e})",
                    "total += recent.popleft() if recent else 1",
                    "total += recent.pop() if len(recent) > 2 else 2",
                    f"total += recent[{self.index()}]",
                    f"recent[{self.index()}] = {e}",
                    "total += sum(recent)",
                    f"for r{depth} in recent: total += r{depth} * 2",
                    f"recent.extend([{e}, {e}])",
                    "if len(recent) > 40: recent.clear()",
                    f"seen.add({k})",
                    f"seen.add({k})",
                    f"count += {k} in seen",
                    f"count += {k} not in seen",
                    "count += len(seen)",
                    f"if {k} in seen: count += 3",
                    f"table[{k}] = {e}",
                    f"table[{k}] = table.get({k}, 0.5) + {e}",
                    f"total += table.get({k}, 1)",
                    f"table.setdefault({k}, {e})",
                    f"if {k} in table: table[{k}] *= 0.5",
                    f"if {k} in table: del table[{k}]",
                    f"total += table.pop({k}, 0.25)",
                    f"seen.discard({k})",
                    f"if {k} in counts: del counts[{k}]",
                    "if len(seen) > 9: seen.clear()",
                    f"for k{depth} in list(table): total += table.pop(k{depth})",
                    f"total += table[{k}]",
                    f"for k{depth}, w{depth} in table.items(): total += w{depth}",
                    "total += len(table)",
                    f"for w{depth} in table.values(): total += w{depth} * 0.5",
                    f"if not table: table[{k}] = 1.0",
                    f"counts[{k}] += 1",
                    f"counts[{k}] += 2",
                    f"count += counts[{k}]",
                    f"sums[{k}] += {e}",
                    f"total += sums[{k}]",
                    f"sums[{k}] = sums[{k}] * 0.5 + {e}",
                    f"heapq.heappush(heap, ({e}, {i}))",
                    f"heapq.heappush(heap, ({e}, {i}))",
                    "total += heapq.heappop(heap)[0] if heap else 3",
                    f"if len(heap) > 2: heapq.heapreplace(heap, ({e}, 1))",
                    "count += heap[0][1] if heap else 1",
                    "heapq.heapify(heap)",
                    f"bisect.insort(ordered, {e})",
                    f"count += bisect.bisect_left(ordered, {e})",
                    f"count += bisect.bisect(ordered, {e})",
                    f"ordered.insert({self.index()}, {e})",
                    "total += ordered.pop(0) if ordered else 1",
                    f"total += ordered.pop({self.index()})",
                    "ordered.sort()",
                    f"total += sorted({v})[{self.index()}]",
                    f"count += sum(p[1] for p in sorted(heap, key=lambda p: {rank}))",
                    f"count += ({e}, {i}) {self.pick(['<', '<=', '>', '>='])} ({self.number(1)}, 2)",
                    f"count += ({i}, {i} % 2) {self.pick(['==', '!='])} (2, 0)",
                    f"count += {i} in ({self.pick(self.integers)}, 3, 5) or {i} not in [1, 2]",
                    f"if (w := {e}) > {self.number(0)}: total += w",
                    "count += int(c[0]) in {1, 2, -1}",
                    f"total += largest({e}, {self.number(0)}, low={self.number(0)})",
                    f"total += largest({e})",
                    f"for k{depth} in range({i}, n + 3, {i} + 1): total += k{depth}",
                ]
            ),
        )

    def write(self):
        self.pairs = self.chance(0.4)
        source = super().write()
        begin = [
            f"    recent = deque({self.pick(['', '', 'maxlen=3', '[0.5], n', '[1.0, 2.0]'])})",
            f"    seen, table = set(), {self.pick(['{}', 'dict()', '{}' if self.pairs else '{0: 1.0, 3: 0.5}'])}",
            f"    counts, sums = {self.pick(['Counter()', 'defaultdict(int)'])}, defaultdict(float)",
            "    heap, ordered = [], []",
        ]
        head, body = source.split("def f(x, y, m, c, n, s):\n")
        *lines, last = body.rstrip("\n").split("\n")
        held = self.pick(
            ["recent", "table, counts", "len(seen), sums", "heap, ordered", "len(seen), dict(counts)", "sorted(seen)"]
        )
        ends = last.replace("return ", f"return {held}, ")
        return "\n".join([HELPERS + head + "def f(x, y, m, c, n, s):", *begin, *lines, ends]) + "\n"
