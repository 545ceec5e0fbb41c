package lakescan;

import org.apache.spark.util.Utils;

/** A metric that Spark's UI shows as a size, 1.5 MiB. */
public final class SizeMetric extends CountMetric {
  public SizeMetric() {}

  public SizeMetric(String name, String description) {
    super(name, description);
  }

  protected String text(long total) {
    return Utils.bytesToString(total);
  }
}
