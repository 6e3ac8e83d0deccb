import { type FileHandle, open, realpath, rename, stat, unlink } from 'node:fs/promises';

/** Replaces a file once the new content is complete. Devices and pipes are written directly. */
export class OutputFile {
  readonly #path: string;
  readonly #file: FileHandle;
  /** The temporary name until the file is complete; null for devices and pipes. */
  readonly #unfinished: string | null;

  private constructor(path: string, file: FileHandle, unfinished: string | null) {
    this.#path = path;
    this.#file = file;
    this.#unfinished = unfinished;
  }

  static async open(named: string): Promise<OutputFile> {
    // The target of a link is replaced, not the link.
    const path = await realpath(named).catch(() => named);
    const present = await stat(path).catch(() => null);
    if (present?.isDirectory())
      throw Object.assign(new Error('it is a folder'), { code: 'EISDIR', syscall: 'open' });
    if (present !== null && !present.isFile()) return new OutputFile(path, await open(path, 'w'), null);
    const unfinished = `${path}.${process.pid}.unfinished`;
    const file = await open(unfinished, 'w', present?.mode);
    return new OutputFile(path, file, unfinished);
  }

  async write(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length; ) {
      const { bytesWritten } = await this.#file.write(bytes, at);
      at += bytesWritten;
    }
  }

  async finish(): Promise<void> {
    if (this.#unfinished !== null) await this.#file.sync();
    await this.#file.close();
    if (this.#unfinished !== null) await rename(this.#unfinished, this.#path);
  }

  /** Gives up the new content, so that the file to replace stays unchanged. */
  async abandon(): Promise<void> {
    await this.#file.close().catch(() => {});
    if (this.#unfinished !== null) await unlink(this.#unfinished).catch(() => {});
  }
}
