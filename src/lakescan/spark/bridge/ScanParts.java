package lakescan;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

import org.apache.spark.api.python.SimplePythonFunction;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.execution.python.ArrowPythonRunner;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.util.CollectionAccumulator;

/** What the driver makes of the classes that executors know, each in one trip from Python. */
public final class ScanParts {
  /** A partition for each task of some blocks, each of them behind its length. */
  public InputPartition[] tasks(byte[] blocks) throws IOException {
    return TaskInBlock.ofBytes(blocks);
  }

  /** The same, where the blocks are in a file. */
  public InputPartition[] tasksInFile(String path) throws IOException {
    return TaskInBlock.ofFile(path);
  }

  /** Tasks with their keys. Py4J finds no method for an array of a subclass, so arrays come as objects. */
  public InputPartition[] keyed(Object tasks, byte[] numbers, Object keys) {
    return KeyedPartition.of((InputPartition[]) tasks, numbers, (InternalRow[]) keys);
  }

  /** A function of Python's; texts have a NUL behind each of their parts, and `broadcasts` may be null. */
  public SimplePythonFunction function(
      byte[] pickled,
      String environment,
      String includes,
      String interpreter,
      String version,
      List broadcasts,
      CollectionAccumulator accumulator) {
    String[] settings = parts(environment);
    Map variables = new HashMap();
    for (int at = 0; at < settings.length; at += 2) {
      variables.put(settings[at], settings[at + 1]);
    }
    List files = new ArrayList(Arrays.asList(parts(includes)));
    List sent = broadcasts == null ? new ArrayList() : broadcasts;
    return new SimplePythonFunction(pickled, variables, files, interpreter, version, sent, accumulator);
  }

  /**
   * Readers of a scan. Types are JSON; the last four are for {@link PlainFiles}, null where no task of the scan is plain,
   * and `places` has four bytes for each.
   */
  public ArrowReaderFactory readers(
      SimplePythonFunction function,
      SQLConf session,
      String schema,
      boolean limited,
      String stored,
      String partitions,
      byte[] places,
      byte[] filters) {
    return new ArrowReaderFactory(
        function,
        struct(schema),
        session.sessionLocalTimeZone(),
        session.arrowUseLargeVarTypes(),
        ArrowPythonRunner.getPythonRunnerConfMap(session),
        limited,
        struct(stored),
        struct(partitions),
        numbers(places),
        filters);
  }

  private static StructType struct(String json) {
    return json == null ? null : (StructType) DataType.fromJson(json);
  }

  private static int[] numbers(byte[] bytes) {
    if (bytes == null) {
      return null;
    }
    int[] numbers = new int[bytes.length / 4];
    ByteBuffer.wrap(bytes).asIntBuffer().get(numbers);
    return numbers;
  }

  /** The parts of a text that have a NUL behind each; empty ones too. */
  private static String[] parts(String text) {
    return text.isEmpty() ? new String[0] : text.substring(0, text.length() - 1).split("\0", -1);
  }
}
