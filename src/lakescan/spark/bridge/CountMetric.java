package lakescan;

import java.util.Locale;

import org.apache.spark.sql.connector.metric.CustomMetric;

/**
 * A metric that Spark's UI shows as the number it is, 6 and 1,234,567. Spark looks a metric's class up by name to add
 * its values up, and makes one without arguments for that.
 */
public class CountMetric implements CustomMetric {
  private final String name;
  private final String description;

  public CountMetric() {
    this("", "");
  }

  public CountMetric(String name, String description) {
    this.name = name;
    this.description = description;
  }

  public String name() {
    return name;
  }

  public String description() {
    return description;
  }

  public String aggregateTaskMetrics(long[] values) {
    long total = 0;
    for (int at = 0; at < values.length; at++) {
      total += values[at];
    }
    return text(total);
  }

  protected String text(long total) {
    return String.format(Locale.ROOT, "%,d", new Object[] {Long.valueOf(total)});
  }
}
