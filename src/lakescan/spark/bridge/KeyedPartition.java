package lakescan;

import java.nio.ByteBuffer;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.HasPartitionKey;
import org.apache.spark.sql.connector.read.InputPartition;

/** A task whose rows all have the same values in the partition columns that its scan has named. */
public final class KeyedPartition extends TaskInBlock implements HasPartitionKey {
  private final InternalRow key;

  public KeyedPartition(TaskInBlock task, InternalRow key) {
    super(task.index(), task.pickedPartition(), task.at());
    this.key = key;
  }

  public InternalRow partitionKey() {
    return key;
  }

  /** The tasks, each with the key whose number among `keys` is in four bytes of `numbers`. */
  public static InputPartition[] of(InputPartition[] tasks, byte[] numbers, InternalRow[] keys) {
    ByteBuffer left = ByteBuffer.wrap(numbers);
    InputPartition[] made = new InputPartition[tasks.length];
    for (int at = 0; at < tasks.length; at++) {
      made[at] = new KeyedPartition((TaskInBlock) tasks[at], keys[left.getInt()]);
    }
    return made;
  }
}
