import type { Test } from 'tap';

/**
 * The folder of a test, removed after the test's teardowns. tap removes a folder before the teardowns if the
 * folder was made before the first of them, and fails if a service still writes to it.
 */
export function testFolder(t: Test, content: Parameters<Test['testdir']>[0] = {}): string {
  t.teardown(() => {});
  return t.testdir(content);
}
