package lakescan;

import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.spark.util.SerializableConfiguration;

/** What a session's Hadoop has for a store: a file system whose class can be used, and what opens it on executors. */
public final class HadoopStores {
  private static final String OF_SPARK = "spark.";
  private static final String OF_HADOOP = "spark.hadoop.";
  private static final String PRESETS = "core-default.xml";
  // So that what tells configurations apart tells nothing of the keys in them.
  private static final String SALT = UUID.randomUUID().toString();

  /** By scheme and the class that the session names, what was found. */
  private final Map found = new HashMap();

  /** The class of the file system for a scheme, empty where there is none, or where it lacks classes that it needs. */
  public synchronized String fileSystemOf(Configuration told, String scheme) {
    ClassLoader loader = Thread.currentThread().getContextClassLoader();
    String question = scheme + " " + told.get("fs." + scheme + ".impl") + " " + System.identityHashCode(loader);
    String known = (String) found.get(question);
    if (known == null) {
      Configuration asked = new Configuration(told);
      asked.setClassLoader(loader);
      known = usable(asked, scheme);
      found.put(question, known);
    }
    return known;
  }

  /**
   * What the session was told, as executors are sent it, with what tells it from another; `presets`, pairs with a NUL
   * behind each word, stand in for what Hadoop presets.
   */
  public SerializableConfiguration sent(Configuration told, String scheme, String presets) {
    TreeMap all = new TreeMap();
    Iterator entries = told.iterator();
    while (entries.hasNext()) {
      Map.Entry entry = (Map.Entry) entries.next();
      all.put(entry.getKey(), entry.getValue());
    }
    TreeMap sent = new TreeMap();
    Iterator names = all.keySet().iterator();
    while (names.hasNext()) {
      String name = (String) names.next();
      if (!name.startsWith(OF_SPARK)) {
        sent.put(name, all.get(name));
      } else if (name.startsWith(OF_HADOOP) && isPreset(told, name.substring(OF_HADOOP.length()))) {
        // Of a context that ran already, a session's builder gives such a name to the session alone.
        sent.put(name.substring(OF_HADOOP.length()), all.get(name));
      }
    }
    String[] words = presets.split("\0");
    for (int at = 0; at + 1 < words.length; at += 2) {
      if (isPreset(told, words[at]) && told.get(OF_HADOOP + words[at]) == null) {
        sent.put(words[at], words[at + 1]);
      }
    }
    Configuration configuration = new Configuration(false);
    Iterator left = sent.entrySet().iterator();
    while (left.hasNext()) {
      Map.Entry entry = (Map.Entry) left.next();
      configuration.set((String) entry.getKey(), (String) entry.getValue());
    }
    configuration.set(StoreFiles.ID, digest(sent.toString()));
    configuration.set(StoreFiles.SCHEME, scheme);
    return new SerializableConfiguration(configuration);
  }

  /** What tells a configuration that was made here from others. */
  public String idOf(SerializableConfiguration configuration) {
    return configuration.value().get(StoreFiles.ID);
  }

  private static String usable(Configuration told, String scheme) {
    try {
      Class kind = FileSystem.getFileSystemClass(scheme, told);
      // Whatever its methods name has to be there too: a client's JAR may be missing.
      kind.getDeclaredMethods();
      return kind.getName();
    } catch (Exception error) {
      return "";
    } catch (LinkageError error) {
      return "";
    }
  }

  private static boolean isPreset(Configuration told, String name) {
    String[] sources = told.getPropertySources(name);
    return told.get(name) == null
        || (sources != null && sources.length > 0 && PRESETS.equals(sources[sources.length - 1]));
  }

  private static String digest(String text) {
    try {
      MessageDigest digest = MessageDigest.getInstance("SHA-256");
      return new BigInteger(1, digest.digest((SALT + text).getBytes(StandardCharsets.UTF_8))).toString(16);
    } catch (GeneralSecurityException error) {
      throw new IllegalStateException(error);
    }
  }
}
