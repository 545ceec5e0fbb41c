package lakescan;

import java.nio.ByteBuffer;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.HasPartitionKey;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.execution.datasources.v2.python.PythonInputPartition;

/** A task whose rows all have the same values in the partition columns that its scan has named. */
public final class KeyedPartition extends PythonInputPartition implements HasPartitionKey {
  private final InternalRow key;

  public KeyedPartition(int index, byte[] task, InternalRow key) {
    super(index, task);
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
      PythonInputPartition task = (PythonInputPartition) tasks[at];
      made[at] = new KeyedPartition(task.index(), task.pickedPartition(), keys[left.getInt()]);
    }
    return made;
  }
}
