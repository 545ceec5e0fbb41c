package lakescan;

import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.ExperimentalMethods;
import org.apache.spark.sql.api.java.UDF1;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.CreateNamedStruct;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.expressions.ScalarSubquery;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.catalyst.trees.TreePattern$;
import org.apache.spark.sql.catalyst.types.DataTypeUtils$;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;
import scala.Function1;
import scala.None$;
import scala.Option;
import scala.collection.Iterator;
import scala.collection.immutable.Nil$;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction1;
import scala.runtime.AbstractPartialFunction;
import scala.runtime.BoxedUnit;

/**
 * A rule of a session's optimizer: scalar subqueries that aggregate the same rows of a table become fields of one, which
 * Spark then runs once. Spark has such a rule of its own, which sees a scan only after aggregates were pushed into it
 * and takes each for another. Python says which scans belong together. Janino compiles this, so types are as they are
 * after erasure.
 */
public final class MergedSubqueries extends Rule {
  private final UDF1 python;

  private MergedSubqueries(UDF1 python) {
    this.python = python;
  }

  /** Put the rule among those of a session, in the place of one that was there before. */
  public static void put(ExperimentalMethods methods, UDF1 python) {
    List rules = new ArrayList();
    for (Iterator each = methods.extraOptimizations().iterator(); each.hasNext(); ) {
      Object rule = each.next();
      if (!(rule instanceof MergedSubqueries)) {
        rules.add(rule);
      }
    }
    rules.add(new MergedSubqueries(python));
    methods.extraOptimizations_$eq(sequence(rules));
  }

  public TreeNode apply(TreeNode plan) {
    if (!plan.containsPattern(TreePattern$.MODULE$.SCALAR_SUBQUERY())) {
      return plan;
    }
    Found found = new Found();
    ((LogicalPlan) plan).transformAllExpressions(found);
    Map merged = found.aggregates.size() < 2 ? new IdentityHashMap() : merged(found.aggregates);
    return merged.isEmpty() ? plan : ((LogicalPlan) plan).transformAllExpressions(new Replaced(merged));
  }

  /** For each subquery that becomes a field: the plan that it is then, and the number of the field. */
  private Map merged(List aggregates) {
    Object[] scans = new Object[aggregates.size()];
    for (int at = 0; at < scans.length; at++) {
      scans[at] = scanOf((LogicalPlan) aggregates.get(at)).scan();
    }
    Object[] told;
    try {
      told = (Object[]) python.call(scans);
    } catch (RuntimeException failed) {
      throw failed;
    } catch (Exception failed) {
      throw new IllegalStateException(failed);
    }
    // The words say of each scan in which of the scans behind them its columns are, and where there.
    String[] words = ((String) told[0]).split(";", -1);
    Map plans = new IdentityHashMap();
    for (int group = 1; group < told.length; group++) {
      List members = new ArrayList();
      List places = new ArrayList();
      for (int at = 0; at < scans.length; at++) {
        String[] parts = words[at].split(":", -1);
        if (!words[at].isEmpty() && Integer.parseInt(parts[0]) == group) {
          members.add(aggregates.get(at));
          places.add(parts[1].split(","));
        }
      }
      together((Scan) told[group], members, places, plans);
    }
    return plans;
  }

  /** Puts the plans of subqueries that one scan answers, where it answers two or more. */
  private static void together(Scan scan, List aggregates, List places, Map plans) {
    Seq output = DataTypeUtils$.MODULE$.toAttributes(scan.readSchema());
    Set known = new HashSet();
    List merged = new ArrayList();
    List columns = new ArrayList();
    List results = new ArrayList();
    List fields = new ArrayList();
    for (int at = 0; at < aggregates.size(); at++) {
      Aggregate aggregate = (Aggregate) aggregates.get(at);
      if (!isNew(aggregate, known)) {
        continue;
      }
      Renamed renamed = new Renamed(scanOf(aggregate).output(), output, (String[]) places.get(at));
      for (Iterator each = projected(aggregate).iterator(); each.hasNext(); ) {
        columns.add(renamed.under((NamedExpression) each.next()));
      }
      NamedExpression result = (NamedExpression) aggregate.aggregateExpressions().head();
      results.add(result);
      fields.add(Literal$.MODULE$.apply("_" + merged.size()));
      fields.add(result.toAttribute());
      merged.add(aggregate);
    }
    if (merged.size() < 2) {
      return;
    }
    Aggregate first = (Aggregate) merged.get(0);
    LogicalPlan rows = new Project(sequence(columns), over(scanOf(first), scan, output));
    LogicalPlan values = new Aggregate(first.groupingExpressions(), sequence(results), rows, first.hint());
    Expression struct = new CreateNamedStruct(sequence(fields));
    List one = new ArrayList();
    one.add(named(struct, "merged", NamedExpression$.MODULE$.newExprId()));
    LogicalPlan plan = new Project(sequence(one), values);
    for (int at = 0; at < merged.size(); at++) {
      plans.put(merged.get(at), new Object[] {plan, Integer.valueOf(at)});
    }
  }

  /**
   * Whether none of what a plan makes has the number of what another makes. A DataFrame that is used twice gives plans
   * with the same numbers, which cannot be in one.
   */
  private static boolean isNew(Aggregate aggregate, Set known) {
    Set made = new HashSet();
    for (Iterator each = projected(aggregate).iterator(); each.hasNext(); ) {
      made.add(((NamedExpression) each.next()).exprId());
    }
    Expression result = (Expression) aggregate.aggregateExpressions().head();
    made.add(((NamedExpression) result).exprId());
    result.foreach(new Numbered(made));
    boolean isNew = Collections.disjoint(known, made);
    known.addAll(made);
    return isNew;
  }

  private static NamedExpression named(Expression value, String name, ExprId id) {
    return new Alias(value, name, id, (Seq) Nil$.MODULE$, (Option) None$.MODULE$, (Seq) Nil$.MODULE$);
  }

  /** The same relation with another scan; what it consists of besides differs between releases of Spark. */
  private static LogicalPlan over(DataSourceV2ScanRelation before, Scan scan, Seq output) {
    Object[] parts = new Object[before.productArity()];
    for (int at = 0; at < parts.length; at++) {
      Object part = before.productElement(at);
      parts[at] = part == before.scan() ? scan : part == before.output() ? output : part;
    }
    try {
      return (LogicalPlan) DataSourceV2ScanRelation.class.getConstructors()[0].newInstance(parts);
    } catch (ReflectiveOperationException failed) {
      throw new IllegalStateException(failed);
    }
  }

  /** The scan of ours that a plan aggregates to one row of one column; null where it does anything else. */
  private static DataSourceV2ScanRelation scanOf(LogicalPlan plan) {
    if (!(plan instanceof Aggregate)) {
      return null;
    }
    Aggregate aggregate = (Aggregate) plan;
    LogicalPlan below = aggregate.child();
    LogicalPlan scanned = below instanceof Project ? ((Project) below).child() : below;
    boolean isOneValue = aggregate.groupingExpressions().isEmpty() && aggregate.aggregateExpressions().size() == 1;
    if (!isOneValue || !(scanned instanceof DataSourceV2ScanRelation)) {
      return null;
    }
    Scan scan = ((DataSourceV2ScanRelation) scanned).scan();
    boolean isOurs =
        Proxy.isProxyClass(scan.getClass())
            && Proxy.getInvocationHandler(scan).getClass().getName().equals("lakescan.Remembered");
    return isOurs ? (DataSourceV2ScanRelation) scanned : null;
  }

  /** What a plan aggregates, over the columns of its scan. */
  private static Seq projected(Aggregate aggregate) {
    return aggregate.child() instanceof Project
        ? ((Project) aggregate.child()).projectList()
        : scanOf(aggregate).output();
  }

  private static Seq sequence(List items) {
    return CollectionConverters.asScala(items).toSeq();
  }

  private static LogicalPlan planOf(Object expression) {
    boolean isAlone = expression instanceof ScalarSubquery && !((ScalarSubquery) expression).isCorrelated();
    return isAlone ? (LogicalPlan) ((ScalarSubquery) expression).plan() : null;
  }

  /** Collects the plans of subqueries that may be merged, and changes nothing. */
  private static final class Found extends AbstractPartialFunction {
    private final List aggregates = new ArrayList();

    public boolean isDefinedAt(Object expression) {
      return planOf(expression) != null && scanOf(planOf(expression)) != null;
    }

    public Object applyOrElse(Object expression, Function1 otherwise) {
      if (!isDefinedAt(expression)) {
        return otherwise.apply(expression);
      }
      aggregates.add(planOf(expression));
      return expression;
    }
  }

  private static final class Replaced extends AbstractPartialFunction {
    private final Map merged;

    Replaced(Map merged) {
      this.merged = merged;
    }

    public boolean isDefinedAt(Object expression) {
      LogicalPlan plan = planOf(expression);
      return plan != null && merged.containsKey(plan);
    }

    public Object applyOrElse(Object expression, Function1 otherwise) {
      if (!isDefinedAt(expression)) {
        return otherwise.apply(expression);
      }
      ScalarSubquery subquery = (ScalarSubquery) expression;
      Object[] found = (Object[]) merged.get(subquery.plan());
      Expression struct = (Expression) subquery.withNewPlan((LogicalPlan) found[0]);
      return new GetStructField(struct, ((Integer) found[1]).intValue(), (Option) None$.MODULE$);
    }
  }

  /** Collects the numbers of the results of aggregate functions. */
  private static final class Numbered extends AbstractFunction1 {
    private final Set numbers;

    Numbered(Set numbers) {
      this.numbers = numbers;
    }

    public Object apply(Object expression) {
      if (expression instanceof AggregateExpression) {
        numbers.add(((AggregateExpression) expression).resultId());
      }
      return BoxedUnit.UNIT;
    }
  }

  /** The columns of a scan as those of another. */
  private static final class Renamed extends AbstractPartialFunction {
    private final Map columns = new HashMap();

    Renamed(Seq before, Seq after, String[] places) {
      for (int at = 0; at < places.length; at++) {
        columns.put(((AttributeReference) before.apply(at)).exprId(), after.apply(Integer.parseInt(places[at])));
      }
    }

    /** An expression over the other's columns, known by the same name and number as before. */
    NamedExpression under(NamedExpression before) {
      Expression after = (Expression) ((Expression) before).transform(this);
      return after instanceof Alias ? (Alias) after : named(after, before.name(), before.exprId());
    }

    public boolean isDefinedAt(Object expression) {
      return expression instanceof AttributeReference
          && columns.containsKey(((AttributeReference) expression).exprId());
    }

    public Object applyOrElse(Object expression, Function1 otherwise) {
      return isDefinedAt(expression)
          ? columns.get(((AttributeReference) expression).exprId())
          : otherwise.apply(expression);
    }
  }
}
