"""One random query to both sides, with settings of its own; and the smallest query and settings that still differ."""

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

from pyspark.sql import SparkSession

from lakescan.scan.settings import setting_names
from tests.matrix.answers import INTERPRETED, Answer, answer, confs
from tests.walks.queries import Maker, Query
from tests.walks.tables import named

SWITCHES = [name for name in setting_names() if ".pushdown." in name]
# A setting and how often it is not as it was.
SETTINGS: tuple[tuple[Mapping[str, str], float], ...] = (
    *(({name: "false"}, 0.04) for name in SWITCHES),
    (dict.fromkeys(SWITCHES, "false"), 0.02),
    ({"lakescan.planning.by_partition": "true"}, 0.08),
    ({"spark.sql.ansi.enabled": "false"}, 0.1),
    ({"spark.sql.adaptive.enabled": "false"}, 0.1),
    ({"spark.sql.autoBroadcastJoinThreshold": "-1"}, 0.15),
    ({"spark.sql.join.preferSortMergeJoin": "false"}, 0.1),
    ({"spark.sql.caseSensitive": "true"}, 0.05),
    ({"spark.sql.session.timeZone": "America/New_York"}, 0.05),
    (
        {
            "spark.sql.cbo.enabled": "true",
            "spark.sql.cbo.joinReorder.enabled": "true",
            "spark.sql.cbo.planStats.enabled": "true",
            "spark.sql.statistics.histogram.enabled": "true",
        },
        0.15,
    ),
    # Generated code is what people run; for tables of thirty rows it is most of a query's time.
    (INTERPRETED, 0.9),
)
_MOST_ATTEMPTS = 300


@dataclass(frozen=True)
class Question:
    """A seed's query, and the settings in which it is asked."""

    seed: int
    query: Query
    settings: tuple[Mapping[str, str], ...]

    def __str__(self) -> str:
        told = {name: value for group in self.settings for name, value in group.items() if group is not INTERPRETED}
        return f"seed {self.seed} {told}\n  {self.query.text()}"


@dataclass(frozen=True)
class Outcome:
    """What both sides gave."""

    ours: Answer
    theirs: Answer

    @property
    def differs(self) -> bool:
        """A refusal of Spark's for which both have a reason is no difference, an error of one side alone is."""
        return not self.ours.same(self.theirs)


def question(seed: int, recursion: bool) -> Question:
    """The question of a seed, the same in every run."""
    random = Random(seed)
    settings = tuple(group for group, often in SETTINGS if random.random() < often)
    return Question(seed, Maker(random, recursion).query(), settings)


def asked(spark: SparkSession, of: Question) -> Outcome:
    text = of.query.text()
    with confs(spark, {name: value for group in of.settings for name, value in group.items()}):
        theirs = answer(lambda: spark.sql(named(text, "theirs")))
        return Outcome(answer(lambda: spark.sql(named(text, "ours"))), theirs)


def smallest(spark: SparkSession, of: Question) -> tuple[Question, Outcome]:
    """A question of which nothing can be left out, or many things were tried: one side answers, the other differs."""
    outcome, attempts = asked(spark, of), 0
    refused = bool(outcome.theirs.error)
    while True:
        for smaller in _smaller(of):
            attempts += 1
            if attempts > _MOST_ATTEMPTS:
                return of, outcome
            tried = asked(spark, smaller)
            if tried.differs and bool(tried.theirs.error) == refused:
                of, outcome = smaller, tried
                break
        else:
            return of, outcome


def _smaller(of: Question) -> "list[Question]":
    fewer = [
        Question(of.seed, of.query, of.settings[:at] + of.settings[at + 1 :])
        for at in range(len(of.settings))
        if of.settings[at] is not INTERPRETED
    ]
    return [*fewer, *(Question(of.seed, query, of.settings) for query in of.query.smaller())]


def recursion_is_known(spark: SparkSession) -> bool:
    """Whether this release has WITH RECURSIVE."""
    return tuple(map(int, spark.version.split(".")[:2])) >= (4, 1)
