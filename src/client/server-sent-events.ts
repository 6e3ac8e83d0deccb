/** One message of an event stream. */
export interface ServerSentEvent {
  readonly type: string;
  /** Null if the stream has sent no id so far. */
  readonly id: string | null;
  readonly data: string;
}

/**
 * Reads an event stream (https://html.spec.whatwg.org/multipage/server-sent-events.html). `EventSource` cannot
 * send a token.
 */
export async function* readServerSentEvents(
  body: ReadableStream<Uint8Array> | null,
): AsyncGenerator<ServerSentEvent, void, undefined> {
  if (body === null) return;
  const decoder = new TextDecoder();
  const reader = body.getReader();
  let rest = '';
  let [type, id, data]: [string, string | null, string[]] = ['', null, []];
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const lines = (rest + decoder.decode(value, { stream: true })).split(/\r\n|\n|\r(?!$)/);
      rest = lines.pop() ?? '';
      for (const line of lines) {
        if (line === '') {
          if (data.length > 0) yield { type: type === '' ? 'message' : type, id, data: data.join('\n') };
          [type, data] = ['', []];
          continue;
        }
        const colon = line.indexOf(':');
        const field = colon === -1 ? line : line.slice(0, colon);
        const text = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '');
        if (field === 'event') type = text;
        else if (field === 'id') id = text;
        else if (field === 'data') data.push(text);
      }
    }
  } finally {
    reader.releaseLock();
    await body.cancel().catch(() => {});
  }
}
