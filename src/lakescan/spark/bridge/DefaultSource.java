package lakescan;

import java.lang.reflect.InvocationTargetException;
import java.util.Iterator;
import java.util.Map;
import java.util.ServiceLoader;
import org.apache.spark.sql.connector.catalog.CatalogV2Util;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.sources.DataSourceRegister;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * What Spark finds by a data source's name, which is this class's package: the same class is compiled into a package for
 * each name. All it knows is the Python object that gives tables. Spark makes an instance for each use, asks it for a
 * schema and then, with that schema, for the table: both are of one load, so that no commit comes between them.
 */
public final class DefaultSource implements TableProvider {
  private static volatile TableProvider python;

  private Table loaded;
  private StructType inferred;

  public static void serve(TableProvider provider) {
    python = provider;
  }

  /** The class that another has registered for a name, null where there is none. */
  public static String registered(String name) {
    ClassLoader loader = Thread.currentThread().getContextClassLoader();
    for (Iterator services = ServiceLoader.load(DataSourceRegister.class, loader).iterator(); services.hasNext();) {
      DataSourceRegister source = (DataSourceRegister) services.next();
      if (source.shortName().equalsIgnoreCase(name)) {
        return source.getClass().getName();
      }
    }
    return null;
  }

  private static TableProvider served() {
    if (python == null) {
      try {
        // Of a driver that is not Python, whose JAR has this class.
        Class beside = Class.forName("lakescan.PythonBeside", true, DefaultSource.class.getClassLoader());
        beside.getMethod("start", new Class[0]).invoke(null, new Object[0]);
      } catch (InvocationTargetException failed) {
        throw (RuntimeException) failed.getCause();
      } catch (ReflectiveOperationException missing) {
        throw new IllegalStateException("Nobody serves this data source: call lakescan.install(spark).", missing);
      }
    }
    return python;
  }

  public StructType inferSchema(CaseInsensitiveStringMap options) {
    loaded = served().getTable(null, new Transform[0], options.asCaseSensitiveMap());
    inferred = CatalogV2Util.v2ColumnsToStructType(loaded.columns());
    return inferred;
  }

  public Transform[] inferPartitioning(CaseInsensitiveStringMap options) {
    return loaded == null ? new Transform[0] : loaded.partitioning();
  }

  public Table getTable(StructType schema, Transform[] partitions, Map properties) {
    return loaded != null && inferred.equals(schema) ? loaded : served().getTable(schema, partitions, properties);
  }

  public boolean supportsExternalMetadata() {
    return true;
  }
}
