import { rmSync } from 'node:fs';

// A stale file in dist would be packed and could be imported; every build starts from nothing.
rmSync(new URL('../dist', import.meta.url), { recursive: true, force: true });
