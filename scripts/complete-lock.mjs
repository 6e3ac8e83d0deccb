import { readFileSync, writeFileSync } from 'node:fs';

/**
 * Completes package-lock.json: npm leaves out the platform packages that the registry at hand does not have, and `npm ci`
 * then refuses the lock file as incomplete. Each one missing gets an entry that says which platform it is for, so that
 * npm skips it elsewhere. To be run after every change of dependencies; a test checks the result.
 */
const file = new URL('../package-lock.json', import.meta.url);
const lock = JSON.parse(readFileSync(file, 'utf8'));

const OS = [
  'aix',
  'android',
  'darwin',
  'freebsd',
  'linux',
  'netbsd',
  'openbsd',
  'openharmony',
  'sunos',
  'win32',
];
const CPU = ['arm', 'arm64', 'ia32', 'loong64', 'mips64el', 'ppc64', 'riscv64', 's390x', 'x64'];

let added = 0;
for (const [path, entry] of Object.entries(lock.packages)) {
  for (const [name, range] of Object.entries(entry.optionalDependencies ?? {})) {
    if (lock.packages[`node_modules/${name}`] || lock.packages[`${path}/node_modules/${name}`]) continue;
    const parts = name.split(/[/-]/);
    const os = parts.find((part) => OS.includes(part));
    const cpu = parts.find((part) => CPU.includes(part));
    if (os === undefined) throw new Error(`${name}: for which platform is it?`);
    lock.packages[`node_modules/${name}`] = {
      version: /\d+\.\d+\.\d+\S*/.exec(range)[0],
      ...(cpu === undefined ? {} : { cpu: [cpu] }),
      ...(entry.dev ? { dev: true } : {}),
      optional: true,
      os: [os],
    };
    added++;
  }
}
lock.packages = Object.fromEntries(Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1)));
writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`);
console.log(`${added} entries added`);
