import { rmSync, writeFileSync } from 'node:fs';

// A stale file in dist would be packed and could be imported; every build starts from nothing.
rmSync(new URL('../dist', import.meta.url), { recursive: true, force: true });
// When the build began; scripts/finish-build.mjs gives it its name at the end, for scripts/ensure-built.mjs.
rmSync(new URL('../node_modules/.lectern-built', import.meta.url), { force: true });
writeFileSync(new URL('../node_modules/.lectern-build-began', import.meta.url), '');
