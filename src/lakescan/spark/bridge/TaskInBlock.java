package lakescan;

import java.io.BufferedInputStream;
import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.util.ArrayList;

import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.execution.datasources.v2.python.PythonInputPartition;

/**
 * One of the tasks of a block. On the driver the tasks of a block share its bytes; to an executor each task takes them
 * along, which are few. A partition that is no such task is the only one of its block.
 */
public class TaskInBlock extends PythonInputPartition {
  private static final int BYTES_OF_A_TASK = 17;
  private final int at;

  public TaskInBlock(int index, byte[] block, int at) {
    super(index, block);
    this.at = at;
  }

  public int at() {
    return at;
  }

  /** A partition for each task of some blocks, each of them behind its length. */
  public static InputPartition[] ofBytes(byte[] blocks) throws IOException {
    return all(new ByteArrayInputStream(blocks));
  }

  /** The same, where the blocks are in a file. */
  public static InputPartition[] ofFile(String path) throws IOException {
    return all(new FileInputStream(path));
  }

  private static InputPartition[] all(InputStream blocks) throws IOException {
    DataInputStream left = new DataInputStream(new BufferedInputStream(blocks, 1 << 20));
    ArrayList partitions = new ArrayList();
    try {
      left.mark(1);
      while (left.read() >= 0) {
        left.reset();
        byte[] block = new byte[left.readInt()];
        left.readFully(block);
        int tasks = ByteBuffer.wrap(block).getInt();
        for (int at = 0; at < tasks; at++) {
          partitions.add(new TaskInBlock(partitions.size(), block, at));
        }
        left.mark(1);
      }
    } finally {
      left.close();
    }
    return (InputPartition[]) partitions.toArray(new InputPartition[0]);
  }

  /** What a block says of one of its tasks. */
  public static final class Told {
    /** About how many bytes a worker reads. */
    public final long bytes;
    /** Which of the block's pieces are the task's. */
    public final int first;
    public final int pieces;
    /** The block's pieces for {@link PlainFiles}, null where it can read none of the task's. */
    public final byte[] plain;
    /** The block's pieces, pickled for a worker. */
    public final byte[] worker;

    public Told(PythonInputPartition partition) {
      ByteBuffer block = ByteBuffer.wrap(partition.pickedPartition());
      int at = partition instanceof TaskInBlock ? ((TaskInBlock) partition).at() : 0;
      int tasks = block.getInt();
      byte[] told = new byte[block.getInt()];
      int begin = block.position();
      block.position(begin + at * BYTES_OF_A_TASK);
      bytes = block.getLong();
      first = block.getInt();
      pieces = block.getInt();
      boolean isPlain = block.get() != 0;
      block.position(begin + tasks * BYTES_OF_A_TASK);
      block.get(told);
      plain = isPlain ? told : null;
      worker = new byte[block.remaining()];
      block.get(worker);
    }
  }
}
