/**
 * Loaded into every test process, after tap's own hook: programs that a test starts are those that users start. Left alone,
 * tap loads its coverage hooks into each of them, which takes five times as long as Node itself takes to start.
 */
import processOnSpawn from 'process-on-spawn';

processOnSpawn.addListener((started) => {
  const { NODE_OPTIONS: _options, ...env } = started.env;
  started.env = Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('_TAPJS_')));
});
