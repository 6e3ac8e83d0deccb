import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';

/** A folder with files of the configuration that change while a test runs. */
export class Folder {
  readonly path: string = mkdtempSync(join(tmpdir(), 'lectern-kept-'));

  constructor(t: Test) {
    t.teardown(() => rmSync(this.path, { recursive: true }));
  }

  of(name: string): string {
    return join(this.path, name);
  }

  /** In one step, as editors and Kubernetes do. */
  write(name: string, content: string): string {
    writeFileSync(this.of(`${name}.new`), content);
    renameSync(this.of(`${name}.new`), this.of(name));
    return this.of(name);
  }
}
