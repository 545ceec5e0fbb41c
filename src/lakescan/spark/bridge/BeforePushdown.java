package lakescan;

import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.WeakHashMap;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Least;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.Count;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.catalyst.trees.TreePattern$;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.Function1;
import scala.collection.Iterator;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction1;
import scala.runtime.AbstractPartialFunction;

/**
 * A rule of an application's optimizer that runs before Spark offers pushdowns to scans. It changes plans that read
 * tables of Lakescan, where Spark's own offer would lead to a wrong row or an error. Janino compiles this, so types are
 * as they are after erasure.
 */
public final class BeforePushdown extends Rule {
  private static final String RUNTIME_FILTERS = "lakescan.pushdown.runtime_filters";

  private static final Map known = new WeakHashMap();

  /** Add the rule to the optimizer of a session and of all that share its extensions, once. */
  public void addTo(Object session) {
    SparkSessionExtensions extensions = ((SparkSession) session).extensions();
    synchronized (known) {
      if (known.put(extensions, Boolean.TRUE) == null) {
        extensions.injectOptimizerRule(new Always(this));
      }
    }
  }

  public TreeNode apply(TreeNode plan) {
    LogicalPlan rewritten = (LogicalPlan) plan;
    if (rewritten.containsPattern(TreePattern$.MODULE$.COUNT())) {
      rewritten = (LogicalPlan) rewritten.transform(new CountsOfLiterals());
    }
    return hasLoop(rewritten) ? rewritten.transform(new Loops()) : rewritten;
  }

  private static boolean hasLoop(LogicalPlan plan) {
    for (Iterator leaves = plan.collectLeaves().iterator(); leaves.hasNext(); ) {
      // Spark 4.0 has no such class.
      if (leaves.next().getClass().getSimpleName().equals("UnionLoopRef")) {
        return true;
      }
    }
    return false;
  }

  private static boolean isOurs(Object node) {
    if (!(node instanceof DataSourceV2Relation)) {
      return false;
    }
    Object table = ((DataSourceV2Relation) node).table();
    return Proxy.isProxyClass(table.getClass())
        && Proxy.getInvocationHandler(table).getClass().getName().equals("lakescan.Remembered");
  }

  private static boolean readsOurs(LogicalPlan plan) {
    for (Iterator leaves = plan.collectLeaves().iterator(); leaves.hasNext(); ) {
      if (isOurs(leaves.next())) {
        return true;
      }
    }
    return false;
  }

  /** Makes a rule for whichever session: this one. */
  private static final class Always extends AbstractFunction1 {
    private final Rule rule;

    Always(Rule rule) {
      this.rule = rule;
    }

    public Object apply(Object session) {
      return rule;
    }
  }

  /**
   * Aggregates with COUNT(DISTINCT literal). Spark offers such a count to a scan as COUNT(*); it is the lesser of one and
   * the number of rows.
   */
  private static final class CountsOfLiterals extends AbstractPartialFunction {
    public boolean isDefinedAt(Object node) {
      return node instanceof Aggregate && readsOurs((LogicalPlan) node);
    }

    public Object applyOrElse(Object node, Function1 otherwise) {
      return isDefinedAt(node)
          ? ((LogicalPlan) node).transformExpressions(new CountOfLiteral())
          : otherwise.apply(node);
    }
  }

  private static final class CountOfLiteral extends AbstractPartialFunction {
    public boolean isDefinedAt(Object expression) {
      if (!(expression instanceof AggregateExpression)) {
        return false;
      }
      AggregateExpression aggregate = (AggregateExpression) expression;
      if (!aggregate.isDistinct() || !(aggregate.aggregateFunction() instanceof Count)) {
        return false;
      }
      Seq counted = ((Count) aggregate.aggregateFunction()).children();
      // Spark has made a zero of the count of a NULL.
      return counted.size() == 1 && counted.head() instanceof Literal && ((Literal) counted.head()).value() != null;
    }

    public Object applyOrElse(Object expression, Function1 otherwise) {
      if (!isDefinedAt(expression)) {
        return otherwise.apply(expression);
      }
      AggregateExpression distinct = (AggregateExpression) expression;
      List least = new ArrayList();
      least.add(Literal$.MODULE$.apply(Long.valueOf(1)));
      least.add(
          new AggregateExpression(
              distinct.aggregateFunction(), distinct.mode(), false, distinct.filter(), distinct.resultId()));
      return new Least(CollectionConverters.asScala(least).toSeq());
    }
  }

  /**
   * Recursions of common table expressions. Spark optimizes a step once and analyzes the result again for each round,
   * where it knows no filter that it has added for values of a join: no scan of a recursion takes such filters.
   */
  private static final class Loops extends AbstractPartialFunction {
    public boolean isDefinedAt(Object node) {
      return node.getClass().getSimpleName().equals("UnionLoop") && readsOurs((LogicalPlan) node);
    }

    public Object applyOrElse(Object node, Function1 otherwise) {
      return isDefinedAt(node) ? ((LogicalPlan) node).transform(new WithoutRuntimeFilters()) : otherwise.apply(node);
    }
  }

  private static final class WithoutRuntimeFilters extends AbstractPartialFunction {
    public boolean isDefinedAt(Object node) {
      return isOurs(node) && !"false".equals(((DataSourceV2Relation) node).options().get(RUNTIME_FILTERS));
    }

    public Object applyOrElse(Object node, Function1 otherwise) {
      if (!isDefinedAt(node)) {
        return otherwise.apply(node);
      }
      DataSourceV2Relation before = (DataSourceV2Relation) node;
      Map options = new HashMap(before.options().asCaseSensitiveMap());
      options.put(RUNTIME_FILTERS, "false");
      Object[] parts = new Object[before.productArity()];
      for (int at = 0; at < parts.length; at++) {
        Object part = before.productElement(at);
        parts[at] = part == before.options() ? new CaseInsensitiveStringMap(options) : part;
      }
      try {
        return DataSourceV2Relation.class.getConstructors()[0].newInstance(parts);
      } catch (ReflectiveOperationException failed) {
        throw new IllegalStateException(failed);
      }
    }
  }
}
