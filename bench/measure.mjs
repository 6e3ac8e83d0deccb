import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** The line with the reason, from a program's last output. */
function reasonIn(complaint) {
  const lines = complaint.split('\n').filter((line) => line.trim() !== '');
  const line = lines.find((each) => /^\w*Error\b/.test(each)) ?? lines.at(-1);
  return line === undefined ? '' : `: ${line.trim()}`;
}

/** A process that answers each message with a message of the same kind. */
export class Program {
  #child;
  #waiting = null;
  #unread = [];
  #ended = null;

  static start(file, ...args) {
    const program = new Program();
    const child = fork(fileURLToPath(new URL(file, import.meta.url)), args, {
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      // Header fields common to many requests are sent once.
      serialization: 'advanced',
    });
    let isReady = false;
    let complaint = '';
    child.stderr.setEncoding('utf8').on('data', (text) => {
      if (isReady) process.stderr.write(text);
      else complaint += text;
    });
    child.on('message', (message) => {
      if (!isReady) process.stderr.write(complaint);
      isReady = true;
      if (program.#waiting?.kind === message.kind) {
        const { resolve } = program.#waiting;
        program.#waiting = null;
        resolve(message);
      } else program.#unread.push(message);
    });
    child.once('close', (code, signal) => {
      const reason = isReady ? '' : reasonIn(complaint);
      program.#ended = new Error(`${file} ended with ${code ?? signal}${reason}`, { cause: complaint });
      program.#waiting?.reject(program.#ended);
    });
    program.#child = child;
    return program;
  }

  /** @param message null sends no message */
  ask(message, kind) {
    const known = this.#unread.findIndex((each) => each.kind === kind);
    if (known !== -1) return Promise.resolve(this.#unread.splice(known, 1)[0]);
    if (this.#ended !== null) return Promise.reject(this.#ended);
    return new Promise((resolve, reject) => {
      this.#waiting = { kind, resolve, reject };
      if (message !== null) this.#child.send(message);
    });
  }

  async end() {
    this.#waiting = null;
    if (this.#ended !== null) return;
    const ended = once(this.#child, 'exit');
    if (this.#child.connected) this.#child.disconnect();
    await ended;
  }
}

/** A started server and its port. */
export async function startServer(file, ...args) {
  const program = Program.start(file, ...args);
  const { port } = await program.ask(null, 'ready');
  return { port, program };
}
