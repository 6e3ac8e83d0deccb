// A list of lessons for React, kept up to date by the event stream, with `lectern/client`.
import { useEffect, useState } from 'react';

/** The lessons of a query, and again after each change. `client` is a TimetableClient; `query` must not change. */
export function useLessons(client, query) {
  const [state, setState] = useState({ lessons: [], problem: null });
  useEffect(() => {
    const stop = new AbortController();
    const { signal } = stop;
    async function follow() {
      // The first message comes at once, with the present version.
      for await (const _ of client.changes({ signal })) {
        const { data } = await client.get('/schedule', query, { signal });
        setState({ lessons: data, problem: null });
      }
    }
    follow().catch((problem) => {
      if (!signal.aborted) setState((before) => ({ ...before, problem }));
    });
    return () => stop.abort();
  }, [client, query]);
  return state;
}

export function Lessons({ client, query }) {
  const { lessons, problem } = useLessons(client, query);
  if (problem !== null) return <p role="alert">{problem.message}</p>;
  return (
    <ul>
      {lessons.map(({ id, time, title }) => (
        <li key={id}>
          <time dateTime={time}>{new Date(time).toLocaleString()}</time> {title}
        </li>
      ))}
    </ul>
  );
}
