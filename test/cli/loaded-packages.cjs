/** Preloaded: writes the packages that each thread has loaded when it ends. */
const { appendFileSync } = require('node:fs');

process.on('exit', () => {
  const names = Object.keys(require.cache).flatMap(
    (path) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? [],
  );
  appendFileSync(process.env.LOADED_PACKAGES, `${JSON.stringify([...new Set(names)])}\n`);
});
