package lakescan;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.BiFunction;

import org.apache.spark.sql.ExperimentalMethods;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.ReadAllAvailable;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.SupportsTriggerAvailableNow;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Strategy$;
import org.apache.spark.sql.execution.datasources.v2.StreamingDataSourceV2ScanRelation;
import org.apache.spark.sql.execution.datasources.v2.python.PythonInputPartition;
import org.apache.spark.sql.execution.datasources.v2.python.PythonStreamingSourceOffset;
import org.apache.spark.sql.types.StructType;

import scala.Function1;
import scala.Option;
import scala.collection.Iterator;
import scala.collection.immutable.Seq;
import scala.collection.mutable.ListBuffer;
import scala.runtime.AbstractPartialFunction;

/**
 * A stream whose offsets and tasks Python plans. What Spark asks many times a batch (equality, schemas, offsets of
 * JSON) is answered here; Python is called for the end of a batch, its tasks and its commit, with text and bytes, so
 * that each is one trip. Janino compiles this, so types are as they are after erasure.
 */
public final class StreamScan implements Scan {
  private final BiFunction python;
  private final String name;
  private final String description;
  private final StructType schema;
  private final boolean narrowed;
  private final Batches batches;

  /** The scan of fewer columns or tasks is another one of the same stream: both have its name. */
  public StreamScan(
      BiFunction python,
      String name,
      String description,
      StructType schema,
      boolean narrowed,
      String initial,
      ReadLimit limit) {
    this.python = python;
    this.name = name;
    this.description = description;
    this.schema = schema;
    this.narrowed = narrowed;
    this.batches = new Batches(this, initial, limit);
  }

  public StructType readSchema() {
    return schema;
  }

  public String description() {
    return description;
  }

  public MicroBatchStream toMicroBatchStream(String checkpoint) {
    // Spark runs a stream in a copy of the user's session: the rule is in no other.
    ExperimentalMethods methods = SparkSession.active().experimental();
    Seq rules = methods.extraOptimizations();
    boolean known = false;
    for (Iterator each = rules.iterator(); each.hasNext(); ) {
      known = known || each.next() instanceof Pruning;
    }
    if (!known) {
      methods.extraOptimizations_$eq((Seq) rules.appended(new Pruning()));
    }
    python.apply("checkpoint", checkpoint);
    return batches;
  }

  public Scan.ColumnarSupportMode columnarSupportMode() {
    return Scan.ColumnarSupportMode.SUPPORTED;
  }

  /** The stream as it runs. That of fewer columns is equal to it: to Spark it is the same source. */
  private static final class Batches implements MicroBatchStream, SupportsTriggerAvailableNow {
    private final StreamScan scan;
    private final String initial;
    private final ReadLimit limit;
    private PartitionReaderFactory factory;
    private boolean planned;
    private String newest;

    Batches(StreamScan scan, String initial, ReadLimit limit) {
      this.scan = scan;
      this.initial = initial;
      this.limit = limit;
    }

    private Object ask(String what, Object told) {
      return scan.python.apply(what, told);
    }

    public Offset initialOffset() {
      return new PythonStreamingSourceOffset(initial);
    }

    public Offset deserializeOffset(String json) {
      return new PythonStreamingSourceOffset(json);
    }

    public ReadLimit getDefaultReadLimit() {
      return limit;
    }

    public Offset latestOffset() {
      throw new UnsupportedOperationException("A stream with read limits is asked for its end with one");
    }

    public Offset latestOffset(Offset start, ReadLimit asked) {
      String all = asked instanceof ReadAllAvailable ? "next of all" : "next";
      String[] parts = ((String) ask(all, start.json())).split("\n", 2);
      newest = parts[1];
      return parts[0].isEmpty() ? start : new PythonStreamingSourceOffset(parts[0]);
    }

    public Offset reportLatestOffset() {
      return newest == null ? null : new PythonStreamingSourceOffset(newest);
    }

    public void prepareForTriggerAvailableNow() {
      ask("fix end", "");
    }

    public InputPartition[] planInputPartitions(Offset start, Offset end) {
      ByteBuffer told = ByteBuffer.wrap((byte[]) ask("plan", "[" + start.json() + "," + end.json() + "]"));
      InputPartition[] tasks = new InputPartition[told.getInt()];
      for (int at = 0; at < tasks.length; at++) {
        byte[] task = new byte[told.getInt()];
        told.get(task);
        tasks[at] = new PythonInputPartition(at, task);
      }
      planned = planned || tasks.length > 0;
      return tasks;
    }

    /** The same for every batch: it says how to read, and the tasks say what. Only tasks tell which columns are plain. */
    public PartitionReaderFactory createReaderFactory() {
      PartitionReaderFactory made = factory == null ? (PartitionReaderFactory) ask("factory", "") : factory;
      factory = planned ? made : null;
      return made;
    }

    public void commit(Offset end) {
      ask("commit", end.json());
    }

    public void stop() {}

    public boolean equals(Object other) {
      return other instanceof Batches && ((Batches) other).scan.name.equals(scan.name);
    }

    public int hashCode() {
      return scan.name.hashCode();
    }

    public String toString() {
      return scan.name;
    }
  }

  /**
   * Spark pushes nothing down to a stream. This gives a stream the columns and the filters of the plan that is above
   * it, in each batch; the filters stay in the plan too.
   */
  private static final class Pruning extends Rule {
    private static final int KEPT = 8;
    private final List known = new ArrayList();

    public TreeNode apply(TreeNode plan) {
      return ((LogicalPlan) plan).transformDown(new Pruned(this));
    }

    /** The plan with a narrower scan below it, null where there is nothing to change. */
    private LogicalPlan pruned(LogicalPlan plan) {
      if (plan instanceof StreamingDataSourceV2ScanRelation) {
        StreamingDataSourceV2ScanRelation relation = (StreamingDataSourceV2ScanRelation) plan;
        if (!isOurs(relation) || names(relation.output()).equals(names((StreamScan) relation.scan()))) {
          return null;
        }
        return narrowed(relation, relation.output(), null);
      }
      if (!(plan instanceof Project) && !(plan instanceof Filter)) {
        return null;
      }
      LogicalPlan below = (LogicalPlan) plan.children().head();
      Filter filter = plan instanceof Filter ? (Filter) plan : below instanceof Filter ? (Filter) below : null;
      LogicalPlan leaf = plan instanceof Project && filter != null ? (LogicalPlan) filter.children().head() : below;
      if (!(leaf instanceof StreamingDataSourceV2ScanRelation)) {
        return null;
      }
      StreamingDataSourceV2ScanRelation relation = (StreamingDataSourceV2ScanRelation) leaf;
      if (!isOurs(relation) || ((StreamScan) relation.scan()).narrowed) {
        return null;
      }
      Seq wanted = plan instanceof Project ? wanted(relation.output(), plan, filter) : relation.output();
      LogicalPlan narrowed = narrowed(relation, wanted, filter);
      if (narrowed == null) {
        return null;
      }
      LogicalPlan child = plan instanceof Project && filter != null ? with(filter, narrowed) : narrowed;
      return with(plan, child);
    }

    private static LogicalPlan with(LogicalPlan plan, LogicalPlan child) {
      ListBuffer children = new ListBuffer();
      children.addOne(child);
      return (LogicalPlan) plan.withNewChildren(children.toList());
    }

    private static boolean isOurs(StreamingDataSourceV2ScanRelation relation) {
      return relation.scan() instanceof StreamScan && relation.startOffset().isDefined();
    }

    /** The columns that a projection and its filter name; the smallest where they name none: rows have to be counted. */
    private static Seq wanted(Seq output, LogicalPlan project, Filter filter) {
      AttributeSet named = project.references();
      AttributeSet filtered = filter == null ? named : filter.references();
      ListBuffer wanted = new ListBuffer();
      Attribute smallest = null;
      for (Iterator each = output.iterator(); each.hasNext(); ) {
        Attribute column = (Attribute) each.next();
        if (named.contains(column) || filtered.contains(column)) {
          wanted.addOne(column);
        }
        if (smallest == null || column.dataType().defaultSize() < smallest.dataType().defaultSize()) {
          smallest = column;
        }
      }
      if (wanted.isEmpty()) {
        wanted.addOne(smallest);
      }
      return wanted.toList();
    }

    private static List names(Seq output) {
      List names = new ArrayList();
      for (Iterator each = output.iterator(); each.hasNext(); ) {
        names.add(((Attribute) each.next()).name());
      }
      return names;
    }

    private static List names(StreamScan scan) {
      return Arrays.asList(scan.schema.fieldNames());
    }

    /** The relation with fewer columns and tasks, null where it would have the same. */
    private LogicalPlan narrowed(StreamingDataSourceV2ScanRelation relation, Seq output, Filter filter) {
      StreamScan scan = (StreamScan) relation.scan();
      Expression condition = filter == null ? null : filter.condition();
      List predicates = new ArrayList();
      if (condition != null) {
        translate(condition, predicates);
      }
      if (predicates.isEmpty() && names(output).equals(names(scan))) {
        return null;
      }
      StreamScan narrow = narrowed(scan, names(output), condition, predicates);
      // The columns are those that the scan has, which may be more than were asked for.
      Seq given = columns(relation.output(), narrow.schema.fieldNames());
      return relation.copy(
          relation.relation(), narrow, given, narrow.batches, relation.startOffset(), relation.endOffset());
    }

    private static Seq columns(Seq output, String[] names) {
      ListBuffer columns = new ListBuffer();
      for (int at = 0; at < names.length; at++) {
        Attribute column = null;
        for (Iterator each = output.iterator(); each.hasNext(); ) {
          Attribute attribute = (Attribute) each.next();
          column = attribute.name().equals(names[at]) ? attribute : column;
        }
        if (column == null) {
          throw new IllegalStateException("A stream's plan has no column " + names[at]);
        }
        columns.addOne(column);
      }
      return columns.toList();
    }

    /** The same question has the same answer: Spark asks it in every batch. */
    private synchronized StreamScan narrowed(StreamScan scan, List names, Expression condition, List predicates) {
      Object[] asked = {scan.name, names, condition};
      for (int at = 0; at < known.size(); at++) {
        Object[] entry = (Object[]) known.get(at);
        if (Arrays.equals(asked, (Object[]) entry[0])) {
          return (StreamScan) entry[1];
        }
      }
      Object[] told = {String.join("\n", names), predicates.toArray(new Predicate[0])};
      StreamScan narrow = (StreamScan) scan.python.apply("narrow", told);
      known.add(new Object[] {asked, narrow});
      if (known.size() > KEPT) {
        known.remove(0);
      }
      return narrow;
    }

    private static void translate(Expression condition, List predicates) {
      if (condition instanceof And) {
        translate(((And) condition).left(), predicates);
        translate(((And) condition).right(), predicates);
        return;
      }
      Option predicate = DataSourceV2Strategy$.MODULE$.translateFilterV2(condition);
      if (predicate.isDefined()) {
        predicates.add(predicate.get());
      }
    }
  }

  private static final class Pruned extends AbstractPartialFunction {
    private final Pruning pruning;

    Pruned(Pruning pruning) {
      this.pruning = pruning;
    }

    public boolean isDefinedAt(Object plan) {
      return pruning.pruned((LogicalPlan) plan) != null;
    }

    public Object applyOrElse(Object plan, Function1 otherwise) {
      LogicalPlan pruned = pruning.pruned((LogicalPlan) plan);
      return pruned == null ? otherwise.apply(plan) : pruned;
    }
  }
}
