import { closeSync, openSync } from 'node:fs';
import { devNull } from 'node:os';
import { fileFault } from '../errors.js';

/** Descriptors that must be free before modules are loaded: loading opens some files at a time. */
const FREE_DESCRIPTORS_MIN = 16;

/**
 * Loads modules on first use, and again after a failure. Node 20 keeps a failure for ever: neither another `import()` nor
 * `require` reads a package again whose `package.json` could not be opened. So without free descriptors, nothing is
 * loaded: the call throws, and the next one tries again.
 */
export function onFirstUse<T>(load: () => Promise<T>): () => Promise<T> {
  let loading: Promise<T> | null = null;
  return async () => {
    if (loading !== null) return loading;
    expectFreeDescriptors();
    loading = load();
    loading.catch(() => {
      loading = null;
    });
    return loading;
  };
}

function expectFreeDescriptors(): void {
  const taken: number[] = [];
  try {
    while (taken.length < FREE_DESCRIPTORS_MIN) taken.push(openSync(devNull, 'r'));
  } catch (cause) {
    // A system without this device can still load packages.
    if (!['EMFILE', 'ENFILE'].includes(String((cause as NodeJS.ErrnoException).code))) return;
    throw new Error(`a package cannot be loaded now: ${fileFault(cause)}`, { cause });
  } finally {
    for (const descriptor of taken) closeSync(descriptor);
  }
}
