import { THREAD_PULSE_MS, THREAD_PULSES_MISSED_MAX } from '../../base/limits.js';

/**
 * Notices from outside that a thread hangs: each of its messages is a beat, and an idle thread sends one every
 * THREAD_PULSE_MS. Limits inside the thread would hang with it. A pause of the whole process counts as one missed beat.
 */
export class ThreadPulse {
  readonly #timer: NodeJS.Timeout;
  #missed = 0;

  constructor(onSilent: () => void, missedMax: number = THREAD_PULSES_MISSED_MAX) {
    this.#timer = setInterval(() => {
      if (this.#missed++ < missedMax) return;
      this.stop();
      onSilent();
    }, THREAD_PULSE_MS).unref();
  }

  beat(): void {
    this.#missed = 0;
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}

export const SILENT_SECONDS: number = (THREAD_PULSE_MS * (THREAD_PULSES_MISSED_MAX + 1)) / 1000;
