package lakescan;

import org.apache.hadoop.fs.FileSystem;

/**
 * Bytes that a worker reads for a task. Spark takes a task's input from what Hadoop's file systems count for its thread,
 * again and again while the task runs, so that is where they have to be.
 */
public final class InputBytes {
  private InputBytes() {}

  @SuppressWarnings("deprecation") // Spark itself asks for these
  public static void count(long bytes) {
    if (bytes > 0) {
      FileSystem.getStatistics("lakescan", FileSystem.class).incrementBytesRead(bytes);
    }
  }
}
