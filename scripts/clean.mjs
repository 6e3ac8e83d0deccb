import { rmSync, writeFileSync } from 'node:fs';

// Every build starts from nothing, because a stale file in dist would be packed and could be imported.
rmSync(new URL('../dist', import.meta.url), { recursive: true, force: true });
// The modification time of this file says when the build began. scripts/finish-build.mjs renames the file, and
// scripts/ensure-built.mjs reads it.
rmSync(new URL('../node_modules/.lectern-built', import.meta.url), { force: true });
writeFileSync(new URL('../node_modules/.lectern-build-began', import.meta.url), '');
