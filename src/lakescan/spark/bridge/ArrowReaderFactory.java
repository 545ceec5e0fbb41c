package lakescan;

import java.io.IOException;
import java.lang.reflect.Constructor;
import java.util.Arrays;
import java.util.List;

import org.apache.arrow.vector.BaseFixedWidthVector;
import org.apache.arrow.vector.BitVector;
import org.apache.arrow.vector.DecimalVector;
import org.apache.arrow.vector.Float4Vector;
import org.apache.arrow.vector.Float8Vector;
import org.apache.arrow.vector.ValueVector;
import org.apache.arrow.vector.VarCharVector;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.TaskContext;
import org.apache.spark.api.python.BasePythonRunner;
import org.apache.spark.api.python.ChainedPythonFunctions;
import org.apache.spark.api.python.PythonEvalType;
import org.apache.spark.api.python.PythonFunction;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.rdd.InputFileBlockHolder$;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.execution.datasources.v2.python.PythonCustomMetric$;
import org.apache.spark.sql.execution.datasources.v2.python.PythonInputPartition;
import org.apache.spark.sql.execution.python.ArrowPythonRunner;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ArrowColumnVector;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;
import org.apache.spark.util.SerializableConfiguration;
import org.apache.spark.util.TaskCompletionListener;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import scala.Option;
import scala.Tuple2;
import scala.collection.Iterator;
import scala.collection.Iterator$;
import scala.collection.immutable.Map;
import scala.collection.immutable.Nil$;

/**
 * Readers whose Arrow batches, as a Python worker sends them, reach Spark as columns: Spark's own factory for Python
 * turns every batch into rows first. What {@link PlainFiles} can read is read without a worker. Janino compiles this, so
 * types are as they are after erasure.
 */
public final class ArrowReaderFactory implements PartitionReaderFactory {
  private static final Logger LOG = LoggerFactory.getLogger(ArrowReaderFactory.class);
  private final PythonFunction function;
  private final StructType schema;
  private final String timeZone;
  private final boolean largeTypes;
  private final Map settings;
  private final boolean limited;
  private final StructType stored;
  private final StructType partitions;
  private final int[] places;
  private final byte[] filters;
  private Broadcast stores;
  private StructType given;

  /** The last four are for {@link PlainFiles}; the first of them is null where no task of the scan is plain. */
  public ArrowReaderFactory(
      PythonFunction function,
      StructType schema,
      String timeZone,
      boolean largeTypes,
      Map settings,
      boolean limited,
      StructType stored,
      StructType partitions,
      int[] places,
      byte[] filters) {
    this.function = function;
    this.schema = schema;
    this.timeZone = timeZone;
    this.largeTypes = largeTypes;
    this.settings = settings;
    this.limited = limited;
    this.stored = stored;
    this.partitions = partitions;
    this.places = places;
    this.filters = filters;
  }

  public boolean supportColumnarReads(InputPartition partition) {
    return true;
  }

  public PartitionReader createReader(InputPartition partition) {
    throw new UnsupportedOperationException("Lakescan's readers give columns");
  }

  public PartitionReader createColumnarReader(InputPartition partition) {
    PythonInputPartition task = (PythonInputPartition) partition;
    TaskInBlock.Told told = new TaskInBlock.Told(task);
    return told.plain == null
        ? worker(task.index(), told.worker, told.first, told.pieces, 0).reading(told.bytes)
        : new PlainReader(this, task.index(), told);
  }

  /** From now on {@link PlainFiles} opens files in a store too, with this configuration of Hadoop's. */
  public void openStores(Broadcast configuration) {
    stores = configuration;
  }

  /** From now on columns are given in these types, some of them structs of what is taken out of a worker's Variants. */
  public void extractVariants(String types) {
    given = (StructType) DataType.fromJson(types);
  }

  private PlainFiles plainFiles() throws IOException {
    Configuration told = stores == null ? null : ((SerializableConfiguration) stores.value()).value();
    return new PlainFiles(stored, partitions, places, filters, told);
  }

  /** A reader in a worker of some pieces of the task's block, of the first of them from a row of its file on. */
  private WorkerReader worker(int index, byte[] pickled, long first, long pieces, long row) {
    Object[] told = {pickled, Long.valueOf(first), Long.valueOf(pieces), Long.valueOf(row)};
    Object wrapped = new GenericInternalRow(new Object[] {new GenericInternalRow(told)});
    TaskContext context = TaskContext.get();
    WorkerReader reader = new WorkerReader(batches(wrapped, index, context), schema, given, limited);
    // Listeners are called last come, first served: this one while the worker is still there.
    context.addTaskCompletionListener(reader);
    return reader;
  }

  private Iterator batches(Object task, int index, TaskContext context) {
    BasePythonRunner runner = runner();
    if (WorkerDaemon.serves(runner, function)) {
      try {
        return runner.compute(input(task), index, context);
      } catch (Exception error) {
        context.killTaskIfInterrupted();
        LOG.info("Workers are started by Spark's own daemon from now on", error);
        WorkerDaemon.failed(runner, function);
        runner = runner();
      }
    }
    return runner.compute(input(task), index, context);
  }

  private static Iterator input(Object task) {
    return Iterator$.MODULE$.single(Iterator$.MODULE$.single(task));
  }

  private BasePythonRunner runner() {
    Object functions = Nil$.MODULE$.$colon$colon(function);
    Object chained = new ChainedPythonFunctions((scala.collection.immutable.Seq) functions);
    StructType task =
        new StructType()
            .add("task", DataTypes.BinaryType)
            .add("first", DataTypes.LongType)
            .add("pieces", DataTypes.LongType)
            .add("row", DataTypes.LongType);
    StructType input = new StructType().add("struct", task);
    Object[] known = {
      Nil$.MODULE$.$colon$colon(new Tuple2(chained, Long.valueOf(0))),
      Integer.valueOf(PythonEvalType.SQL_MAP_ARROW_ITER_UDF()),
      new int[][] {{0}},
      input,
      timeZone,
      Boolean.valueOf(largeTypes),
      settings,
      PythonCustomMetric$.MODULE$.pythonMetrics()
    };
    // What follows differs between versions of Spark: ids and a profiler, each of which may be absent.
    Constructor constructor = ArrowPythonRunner.class.getConstructors()[0];
    Object[] arguments = Arrays.copyOf(known, constructor.getParameterCount());
    Arrays.fill(arguments, known.length, arguments.length, Option.empty());
    try {
      return (BasePythonRunner) constructor.newInstance(arguments);
    } catch (ReflectiveOperationException error) {
      throw new IllegalStateException("Spark's Python runner cannot be made", error);
    }
  }

  /**
   * The pieces of a task in their order, each read by Spark's own reader where it can. Whatever that cannot read, be it
   * from the first row on or later, is left to a worker, which takes over at that row: it reads more than Spark does,
   * or says what is wrong with the file. The pieces behind it are Spark's again.
   */
  private static final class PlainReader implements PartitionReader {
    private final ArrowReaderFactory factory;
    private final int index;
    private final TaskInBlock.Told told;
    private final PlainFiles files;
    private final List pieces;
    private int next;
    private PlainFiles.Rows rows;
    private WorkerReader worker;

    PlainReader(ArrowReaderFactory factory, int index, TaskInBlock.Told told) {
      this.factory = factory;
      this.index = index;
      this.told = told;
      try {
        this.files = factory.plainFiles();
        this.pieces = FilePiece.of(told.plain, told.first, told.pieces);
      } catch (IOException error) {
        throw new IllegalStateException("A task cannot be read as the driver wrote it", error);
      }
    }

    public boolean next() throws IOException {
      while (worker != null || rows != null || next < pieces.size()) {
        if (worker != null) {
          if (worker.next()) {
            return true;
          }
          worker = null;
        } else if (rows != null) {
          if (hasRows()) {
            return true;
          }
        } else {
          open();
        }
      }
      InputFileBlockHolder$.MODULE$.unset();
      return false;
    }

    public Object get() {
      return worker != null ? worker.get() : rows.batch();
    }

    public void close() throws IOException {
      if (rows != null) {
        rows.close();
        rows = null;
      }
    }

    private boolean hasRows() throws IOException {
      try {
        if (rows.next()) {
          return true;
        }
        close();
      } catch (Exception error) {
        long row = rows.position();
        close();
        TaskContext.get().killTaskIfInterrupted();
        LOG.info("A worker reads on where Spark's own reader stopped", error);
        worker = factory.worker(index, told.worker, told.first + next - 1, 1, row);
      }
      return false;
    }

    /** Opens the next piece that Spark's reader can read; those before it are one worker's. */
    private void open() {
      int first = next;
      while (rows == null && next < pieces.size()) {
        try {
          rows = files.open((FilePiece) pieces.get(next));
        } catch (Exception error) {
          TaskContext.get().killTaskIfInterrupted();
          LOG.info("A worker reads what Spark's own reader does not open", error);
        }
        next++;
      }
      int left = next - first - (rows == null ? 0 : 1);
      if (left > 0) {
        worker = factory.worker(index, told.worker, told.first + first, left, 0);
      }
    }
  }

  private static final class WorkerReader implements PartitionReader, TaskCompletionListener {
    private final Iterator batches;
    private final StructType schema;
    private final VariantFields[] extracted;
    private final boolean limited;
    private ColumnarBatch current;
    private String[] files;
    private int file;
    private long bytes;

    WorkerReader(Iterator batches, StructType schema, StructType given, boolean limited) {
      this.batches = batches;
      this.schema = schema;
      this.extracted = given == null ? new VariantFields[schema.length()] : VariantFields.of(given);
      this.limited = limited;
    }

    /** How many bytes the worker is to read. Spark has begun to count the thread's when it asks for rows. */
    WorkerReader reading(long bytes) {
      this.bytes = bytes;
      return this;
    }

    public boolean next() {
      InputBytes.count(bytes);
      bytes = 0;
      ColumnarBatch batch = null;
      while (batch == null && batches.hasNext()) {
        batch = (ColumnarBatch) batches.next();
        if (batch.numRows() == 0) {
          beginFile((ArrowColumnVector) batch.column(0));
          batch = null;
        }
      }
      if (batch == null) {
        InputFileBlockHolder$.MODULE$.unset();
        return false;
      }
      // Python's rows arrive as one struct, whose fields are the columns.
      ArrowColumnVector row = (ArrowColumnVector) batch.column(0);
      ColumnVector[] columns = new ColumnVector[schema.length()];
      for (int at = 0; at < columns.length; at++) {
        columns[at] = new Column(((ArrowColumnVector) row.getChild(at)).getValueVector());
        if (extracted[at] != null) {
          columns[at] = extracted[at].from(columns[at], batch.numRows());
        }
      }
      current = new ColumnarBatch(columns, batch.numRows());
      return true;
    }

    public Object get() {
      return current;
    }

    public void close() {}

    /** What follows are the rows of the next file: tell Spark which that is. The first batch names all of them. */
    private void beginFile(ArrowColumnVector row) {
      if (files == null) {
        ValueVector first = ((ArrowColumnVector) row.getChild(0)).getValueVector();
        Object named = first.getField().getMetadata().get("lakescan.files");
        files = named == null ? new String[0] : ((String) named).split("\n");
      }
      if (file < files.length) {
        String[] parts = files[file++].split("\t", 3);
        InputFileBlockHolder$.MODULE$.set(parts[2], Long.parseLong(parts[0]), Long.parseLong(parts[1]));
      }
    }

    /**
     * Spark asks for no more rows than its limit, and so never sees the end of what the worker sends. A worker that
     * stops at the limit itself is near that end; cut off before it, it would complain in the log.
     */
    public void onTaskCompletion(TaskContext task) {
      while (limited && !task.isInterrupted() && !task.isFailed() && batches.hasNext()) {
        batches.next();
      }
    }
  }

  /**
   * Spark closes a batch after use, but the runner loads its next one into the same vectors, and closes them itself.
   * Numbers and text are read where they lie: Arrow's own way checks bounds at every value, and took most of the time.
   * A vector of another kind than is asked for is left to Spark's class, which refuses it: memory is never misread.
   */
  private static final class Column extends ArrowColumnVector {
    /** The bytes of a value that may be read where it lies; 0 for any other kind of vector. */
    private final int width;
    private final boolean floating;
    /** Of decimals of which each is a long without its point: how many digits are behind it. */
    private final int scaleOfLongs;
    private final boolean text;
    private final boolean nulls;
    private final long validity;
    private final long values;
    private final long offsets;

    Column(ValueVector vector) {
      super(vector);
      boolean fixed = vector instanceof BaseFixedWidthVector && !(vector instanceof BitVector);
      text = vector instanceof VarCharVector;
      floating = vector instanceof Float4Vector || vector instanceof Float8Vector;
      width = fixed ? ((BaseFixedWidthVector) vector).getTypeWidth() : 0;
      boolean longs =
          vector instanceof DecimalVector && ((DecimalVector) vector).getPrecision() <= Decimal.MAX_LONG_DIGITS();
      scaleOfLongs = longs ? ((DecimalVector) vector).getScale() : -1;
      boolean known = text || fixed;
      nulls = known && vector.getNullCount() > 0;
      validity = known ? vector.getValidityBuffer().memoryAddress() : 0;
      values = known ? vector.getDataBuffer().memoryAddress() : 0;
      offsets = text ? vector.getOffsetBuffer().memoryAddress() : 0;
    }

    public boolean isNullAt(int row) {
      return width > 0 || text
          ? nulls && ((Platform.getByte(null, validity + (row >> 3)) >> (row & 7)) & 1) == 0
          : super.isNullAt(row);
    }

    public byte getByte(int row) {
      return width == 1 ? Platform.getByte(null, values + row) : super.getByte(row);
    }

    public short getShort(int row) {
      return width == 2 ? Platform.getShort(null, values + 2L * row) : super.getShort(row);
    }

    public int getInt(int row) {
      return width == 4 && !floating ? Platform.getInt(null, values + 4L * row) : super.getInt(row);
    }

    public long getLong(int row) {
      return width == 8 && !floating ? Platform.getLong(null, values + 8L * row) : super.getLong(row);
    }

    public float getFloat(int row) {
      return width == 4 && floating ? Platform.getFloat(null, values + 4L * row) : super.getFloat(row);
    }

    public double getDouble(int row) {
      return width == 8 && floating ? Platform.getDouble(null, values + 8L * row) : super.getDouble(row);
    }

    /** Spark's class makes a BigDecimal of each, though a long has all digits of most decimals. */
    public Decimal getDecimal(int row, int precision, int scale) {
      if (scale != scaleOfLongs || precision > Decimal.MAX_LONG_DIGITS()) {
        return super.getDecimal(row, precision, scale);
      }
      return isNullAt(row) ? null : Decimal.createUnsafe(Platform.getLong(null, values + 16L * row), precision, scale);
    }

    public UTF8String getUTF8String(int row) {
      if (!text) {
        return super.getUTF8String(row);
      }
      if (isNullAt(row)) {
        return null;
      }
      int start = Platform.getInt(null, offsets + 4L * row);
      int end = Platform.getInt(null, offsets + 4L * (row + 1));
      return UTF8String.fromAddress(null, values + start, end - start);
    }

    public void close() {}
  }
}
