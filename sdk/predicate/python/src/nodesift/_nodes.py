"""The nodes of a call: columns, row sets and rejections for all of them (`Nodes`), and one of them (`Node`).

A column has an entry per row, in the order of rows, and is read from the host once a call.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ._host import facts
from ._moments import NodeMoments, NodesMoments
from ._pod import Taint, effect_text
from ._rows import RowSet
from ._verdict import ByRow, Codes, Failure

_CONDITIONS = (None, "True", "False", "Unknown")
"""The status of a condition by its code."""


class Texts:
    """A column of labels or annotations: a code per row, and the texts behind the codes. Code 0 is an absent one."""

    __slots__ = ("_dictionary", "_functions", "_integers", "_values", "codes", "key")

    def __init__(self, functions: Any, key: str) -> None:
        self._functions = functions
        self.key = key
        self.codes: Sequence[int] = functions.column(key)
        self._dictionary: list[str] | None = None
        self._integers: list[int] | None = None
        self._values: list[str | None] | None = None

    @property
    def dictionary(self) -> list[str]:
        """The text behind each code."""
        if self._dictionary is None:
            self._dictionary = self._functions.dictionary(self.key)
        return self._dictionary

    @property
    def integers(self) -> list[int]:
        """The texts of the dictionary as integers; -(2 ** 63) where a text is none."""
        if self._integers is None:
            self._integers = self._functions.integers(self.key)
        return self._integers

    def code(self, text: str) -> int | None:
        """The code of a text; none where no node has it."""
        return self._functions.code(self.key, text)

    @property
    def values(self) -> list[str | None]:
        """The text of each row; none where it is absent."""
        if self._values is None:
            texts: list[str | None] = [None, *self.dictionary[1:]]
            self._values = list(map(texts.__getitem__, self.codes))
        return self._values


class Nodes(NodesMoments):
    """All nodes of a call."""

    __slots__ = ("_annotations", "_codes", "_labels", "_once", "_uses_sets", "count")

    def __init__(self, count: int) -> None:
        self.count = count
        """The number of rows: they are numbered from 0."""
        self._labels: dict[str, Texts] = {}
        self._annotations: dict[str, Texts] = {}
        self._once: dict[Any, Any] = {}
        self._codes: Codes | None = None
        self._uses_sets = False

    def _column(self, key: Any, read: Callable[[], Any]) -> Any:
        try:
            return self._once[key]
        except KeyError:
            value = self._once[key] = read()
            return value

    # Row sets, which the host makes.

    def all(self) -> RowSet:
        """Every row."""
        return RowSet(facts("row-sets").all())

    def label_in(self, key: str, values: Iterable[str]) -> RowSet:
        """The rows whose label has one of these values. Reads `node-labels`."""
        return RowSet(facts("node-labels", "nodes.label_in").rows_in(key, _texts(values)))

    def label_exists(self, key: str) -> RowSet:
        """The rows that have the label. Reads `node-labels`."""
        return RowSet(facts("node-labels", "nodes.label_exists").rows_with(key))

    def annotation_in(self, key: str, values: Iterable[str]) -> RowSet:
        """The rows whose annotation has one of these values. Reads `node-annotations`."""
        return RowSet(facts("node-annotations", "nodes.annotation_in").rows_in(key, _texts(values)))

    def annotation_exists(self, key: str) -> RowSet:
        """The rows that have the annotation. Reads `node-annotations`."""
        return RowSet(facts("node-annotations", "nodes.annotation_exists").rows_with(key))

    def free_at_least(self, resource: str, amount: int) -> RowSet:
        """The rows on which at least this amount of the resource is free. Reads `node-resources`."""
        return RowSet(facts("node-resources", "nodes.free_at_least").rows_with_free(resource, amount))

    def untolerated(self) -> RowSet:
        """The rows with a taint NoSchedule or NoExecute that the pod does not tolerate. Reads `node-taints`."""
        return RowSet(facts("node-taints", "nodes.untolerated").rows_untolerated())

    def unschedulable(self) -> RowSet:
        """The rows with `spec.unschedulable`. Reads `node-taints`."""
        return RowSet(facts("node-taints", "nodes.unschedulable").rows_unschedulable())

    def label_texts(self, key: str) -> list[str]:
        """The different values of a label, for `label_in`: without a column, so once per value. Reads `node-labels`."""
        return facts("node-labels", "nodes.label_texts").dictionary(key)[1:]

    def annotation_texts(self, key: str) -> list[str]:
        """The different values of an annotation, for `annotation_in`. Reads `node-annotations`."""
        return facts("node-annotations", "nodes.annotation_texts").dictionary(key)[1:]

    def reject(self, rows: RowSet | int | Iterable[int], failure: Failure) -> None:
        """Rejects rows: a row set, a row, or several rows. A row that was rejected before keeps its failure.

        One call rejects row sets, or rows by number, not both.
        """
        if isinstance(rows, RowSet):
            rows._reject(failure)
            self._uses_sets = True
            return
        codes = self._codes
        if codes is None:
            codes = self._codes = Codes(self.count)
        for row in (rows,) if isinstance(rows, int) else rows:
            if not 0 <= row < self.count:
                raise IndexError(f"there is no row {row}: the call has {self.count} rows")
            codes.reject(row, failure)

    def _verdict(self) -> ByRow | None:
        if self._codes is None:
            return None
        if self._uses_sets:
            raise TypeError("reject row sets, or reject rows by number: not both in one call")
        return self._codes.verdict()

    # Columns.

    @property
    def names(self) -> list[str]:
        """The names. Reads `node-identity`."""
        return self._column("names", lambda: facts("node-identity", "the name of a node").names())

    def row(self, name: str) -> int | None:
        """The row of a node. Reads `node-identity`."""
        return facts("node-identity", "nodes.row").row(name)

    def labels(self, key: str) -> Texts:
        """The column of a label. Reads `node-labels`."""
        try:
            return self._labels[key]
        except KeyError:
            column = self._labels[key] = Texts(facts("node-labels", "a label of a node"), key)
            return column

    def annotations(self, key: str) -> Texts:
        """The column of an annotation that the policy lists. Reads `node-annotations`."""
        try:
            return self._annotations[key]
        except KeyError:
            column = self._annotations[key] = Texts(facts("node-annotations", "an annotation of a node"), key)
            return column

    @property
    def unschedulable_flags(self) -> bytes:
        """Flags: 1 with `spec.unschedulable`. Reads `node-taints`."""
        return self._column("unschedulable", lambda: facts("node-taints", "unschedulable").unschedulable())

    @property
    def taints(self) -> list[list[Taint]]:
        """`spec.taints` of each row. Nodes with the same taints share a list. Reads `node-taints`."""

        def read() -> list[list[Taint]]:
            functions = facts("node-taints", "the taints of a node")
            sets = [[Taint(t.key, t.value, effect_text(t.effect)) for t in taints] for taints in functions.sets()]
            return [sets[index] for index in functions.column()]

        return self._column("taints", read)

    def allocatable(self, resource: str) -> list[int]:
        """Allocatable amounts; 0 where a node does not list the resource. Reads `node-resources`."""
        return self._column(("a", resource), lambda: facts("node-resources", "allocatable").allocatable(resource))

    def requested(self, resource: str) -> list[int]:
        """What all pods on each node request together. Reads `node-resources`."""
        return self._column(("r", resource), lambda: facts("node-resources", "requested").requested(resource))

    def free(self, resource: str) -> list[int]:
        """`allocatable` minus `requested`. Reads `node-resources`."""
        return self._column(("f", resource), lambda: facts("node-resources", "free").free(resource))

    @property
    def pods(self) -> list[int]:
        """Numbers of pods. Reads `node-resources`."""
        return self._column("pods", lambda: facts("node-resources", "pods").pods())

    @property
    def pod_limit(self) -> list[int]:
        """`status.allocatable.pods`. Reads `node-resources`."""
        return self._column("pod_limit", lambda: facts("node-resources", "pod_limit").pod_limit())

    def conditions(self, type: str) -> bytes:
        """The status of a condition: 0 none, 1 True, 2 False, 3 Unknown. Reads `node-conditions`."""
        return self._column(("c", type), lambda: facts("node-conditions", "a condition of a node").column(type))

    def info(self, field: str) -> Texts:
        """The column of a field that nodes say of themselves, for example `kubelet-version`. Reads `node-info`."""
        return self._column(("i", field), lambda: Texts(facts("node-info", "the info of a node"), field))

    def image_flags(self, image: str) -> bytes:
        """Flags: 1 where `status.images` names the image; it lists only the largest. Reads `node-images`."""
        return self._column(("p", image), lambda: facts("node-images", "the images of a node").present(image))

    @property
    def feasible(self) -> bytes:
        """Flags: 1 where the pod fits, in a scorer. Its scores hold for one set of nodes alone. Reads `cluster-candidates`."""
        return self._column("feasible", lambda: facts("cluster-candidates", "nodes.feasible").feasible())


def _texts(values: Iterable[str]) -> list[str]:
    if isinstance(values, str):
        raise TypeError("the values are a list of texts, not one text")
    return list(values)


class Node(NodeMoments):
    """One node. One object stands for each node in turn: keep what it says, not the object."""

    __slots__ = ("_nodes", "_row")

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes
        self._row = 0

    @property
    def name(self) -> str:
        """`metadata.name`. Reads `node-identity`."""
        return self._nodes.names[self._row]

    def label(self, key: str) -> str | None:
        """The value of a label. Reads `node-labels`."""
        return self._nodes.labels(key).values[self._row]

    def annotation(self, key: str) -> str | None:
        """The value of an annotation that the policy lists. Reads `node-annotations`."""
        return self._nodes.annotations(key).values[self._row]

    @property
    def unschedulable(self) -> bool:
        """`spec.unschedulable`. Reads `node-taints`."""
        return self._nodes.unschedulable_flags[self._row] != 0

    @property
    def taints(self) -> list[Taint]:
        """`spec.taints`. Reads `node-taints`."""
        return self._nodes.taints[self._row]

    def allocatable(self, resource: str) -> int:
        """`status.allocatable` of a resource; 0 where the node does not list it. Reads `node-resources`."""
        return self._nodes.allocatable(resource)[self._row]

    def requested(self, resource: str) -> int:
        """What all pods on the node request together. Reads `node-resources`."""
        return self._nodes.requested(resource)[self._row]

    def free(self, resource: str) -> int:
        """`allocatable` minus `requested`. Reads `node-resources`."""
        return self._nodes.free(resource)[self._row]

    @property
    def pods(self) -> int:
        """The number of pods on the node. Reads `node-resources`."""
        return self._nodes.pods[self._row]

    @property
    def pod_limit(self) -> int:
        """`status.allocatable.pods`. Reads `node-resources`."""
        return self._nodes.pod_limit[self._row]

    def condition(self, type: str) -> str | None:
        """The status of a condition, for example of `Ready`: `True`, `False` or `Unknown`. Reads `node-conditions`."""
        return _CONDITIONS[self._nodes.conditions(type)[self._row]]

    def info(self, field: str) -> str | None:
        """What the node says of itself, for example `kubelet-version`. Reads `node-info`."""
        return self._nodes.info(field).values[self._row]

    def has_image(self, image: str) -> bool:
        """Whether `status.images` names the image; it lists only the largest. Reads `node-images`."""
        return self._nodes.image_flags(image)[self._row] != 0
