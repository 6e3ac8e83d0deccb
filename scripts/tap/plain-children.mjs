/**
 * Loaded into every test process after tap's own hook: programs that a test starts must run as they do for
 * users. Otherwise tap loads its coverage hooks into each of them, which takes five times as long as starting
 * Node. A test with its own options for a program repeats them as OWN_NODE_OPTIONS.
 */
import processOnSpawn from 'process-on-spawn';

processOnSpawn.addListener((started) => {
  const { NODE_OPTIONS: _options, OWN_NODE_OPTIONS, ...env } = started.env;
  if (OWN_NODE_OPTIONS !== undefined) env.NODE_OPTIONS = OWN_NODE_OPTIONS;
  started.env = Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('_TAPJS_')));
});
