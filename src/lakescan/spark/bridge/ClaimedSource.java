package lakescan;

import java.lang.reflect.Field;
import org.apache.spark.sql.catalyst.analysis.Analyzer;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.UnresolvedDataSource;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import scala.Function1;
import scala.collection.Iterator;
import scala.collection.immutable.Seq;
import scala.runtime.AbstractPartialFunction;

/**
 * A rule of one session's analyzer: what is read by the name of a data source that another has registered, batch or
 * stream, is read by a data source of another name. Spark looks for the class of a name only after this rule, and asks
 * it nothing of what is written. What the name's owner reads by it, from code of its own, stays the owner's. Janino
 * compiles this, so types are as they are after erasure.
 */
public final class ClaimedSource extends Rule {
  private final String name;
  private final String reader;
  private final String[] owners;

  private ClaimedSource(String name, String reader, String[] owners) {
    this.name = name;
    this.reader = reader;
    this.owners = owners;
  }

  /** Put the rule before all others of an analyzer, where it has none for that name. */
  public static void put(Analyzer analyzer, String name, String reader, String[] owners) throws Exception {
    Field field = analyzer.getClass().getDeclaredField("extendedResolutionRules");
    field.setAccessible(true);
    Seq rules = (Seq) field.get(analyzer);
    for (Iterator each = rules.iterator(); each.hasNext(); ) {
      Object rule = each.next();
      if (rule instanceof ClaimedSource && ((ClaimedSource) rule).name.equals(name)) {
        return;
      }
    }
    field.set(analyzer, rules.prepended(new ClaimedSource(name, reader, owners)));
  }

  public TreeNode apply(TreeNode plan) {
    // A stream's is below a node that has the stream's name.
    return ((LogicalPlan) plan).resolveOperators(new Claimed(this));
  }

  private boolean isClaimed(Object plan) {
    return plan instanceof UnresolvedDataSource
        && name.equalsIgnoreCase(((UnresolvedDataSource) plan).format())
        && !isReadByOwner();
  }

  private boolean isReadByOwner() {
    StackTraceElement[] callers = Thread.currentThread().getStackTrace();
    for (int at = 0; at < callers.length; at++) {
      for (int owner = 0; owner < owners.length; owner++) {
        if (callers[at].getClassName().startsWith(owners[owner])) {
          return true;
        }
      }
    }
    return false;
  }

  private static final class Claimed extends AbstractPartialFunction {
    private final ClaimedSource rule;

    Claimed(ClaimedSource rule) {
      this.rule = rule;
    }

    public boolean isDefinedAt(Object plan) {
      return rule.isClaimed(plan);
    }

    public Object applyOrElse(Object plan, Function1 otherwise) {
      if (!rule.isClaimed(plan)) {
        return otherwise.apply(plan);
      }
      UnresolvedDataSource read = (UnresolvedDataSource) plan;
      return read.copy(rule.reader, read.userSpecifiedSchema(), read.options(), read.isStreaming(), read.paths());
    }
  }
}
