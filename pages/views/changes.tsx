/** What changed: as it arrives, or since an earlier visit. */
import type { Changes as ChangeSet, TimetableEvent } from 'lectern/client';
import { TimetableProblem } from 'lectern/client';
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { colourOf } from '../colours.js';
import { client, type Names, readNames, received, rowOf, seenRow, useLoaded, versionsSeen } from '../data.js';
import type { Row } from '../lessons.js';
import { Loading, Problem, Text } from '../parts.js';
import { say, sayAgo, sayMoment, sayTime } from '../speak.js';
import { now } from '../store.js';

const SHOWN_MAX = 300;

export function Changes(): JSX.Element {
  const [since, setSince] = useState<string | null>(null);
  const earlier = versionsSeen();
  const { data: names } = useLoaded('names', readNames);
  document.title = `${say('changesTitle')} · ${say('appName')}`;
  return (
    <>
      <div class="toolbar">
        <h1 class="whose">{say('changesTitle')}</h1>
        <div class="joined" role="group" aria-label={say('changesTitle')}>
          <button type="button" class="button" aria-pressed={since === null} onClick={() => setSince(null)}>
            {say('sinceBegin')}
          </button>
          {earlier.map(({ at, version }) => (
            <button
              key={version}
              type="button"
              class="button"
              aria-pressed={since === version}
              title={sayMoment(at)}
              onClick={() => setSince(version)}
            >
              {sayAgo(at, now.value)}
            </button>
          ))}
        </div>
      </div>
      {names === null ? (
        <Loading />
      ) : since === null ? (
        <Received names={names} />
      ) : (
        <Since version={since} names={names} />
      )}
    </>
  );
}

function Received({ names }: { readonly names: Names }): JSX.Element {
  const list = received.value;
  return (
    <div class="body changes" aria-busy="false">
      {list.length === 0 && <p class="notice">{say('changesNone')}</p>}
      {list.map(({ at, message, before }) => (
        <section key={message.version}>
          <h2>
            {sayTime(at)} <span class="muted">{sayAgo(at, Math.max(now.value, at))}</span>
          </h2>
          {message.kind === 'changes' ? (
            <ChangeTable changes={message} names={names} before={before} />
          ) : (
            <p class="notice">{say('readAnew')}</p>
          )}
        </section>
      ))}
    </div>
  );
}

function Since({ version, names }: { readonly version: string; readonly names: Names }): JSX.Element {
  const { data, error, isLoading } = useLoaded(`changes ${version}`, (signal) =>
    client.get('/schedule/changes', { since: version }, { signal }),
  );
  if (error instanceof TimetableProblem && error.status === 410)
    return <p class="notice">{say('readAnew')}</p>;
  if (error !== null) return <Problem error={error} />;
  if (data === null || isLoading) return <Loading />;
  return (
    <div class="body changes" aria-busy="false">
      <ChangeTable changes={data.data} names={names} before={new Map()} />
    </div>
  );
}

interface TableProps {
  readonly changes: ChangeSet;
  readonly names: Names;
  /** Rows as they were, as far as this page had seen them. */
  readonly before: ReadonlyMap<string, Row>;
}

function ChangeTable({ changes, names, before }: TableProps): JSX.Element {
  const { added, changed, removed } = changes;
  const old = (id: string): Row | undefined => before.get(id);
  if (added.length + changed.length + removed.length === 0) return <p class="notice">{say('changesNone')}</p>;
  const line = (event: TimetableEvent, what: 'added' | 'changed'): JSX.Element => (
    <ChangeLine
      key={event.id}
      what={what}
      row={rowOf(event, names)}
      old={what === 'changed' ? old(event.id) : undefined}
    />
  );
  return (
    <ul class="change-list">
      {changed.slice(0, SHOWN_MAX).map((event) => line(event, 'changed'))}
      {added.slice(0, SHOWN_MAX).map((event) => line(event, 'added'))}
      {removed.slice(0, SHOWN_MAX).map((id) => (
        <ChangeLine key={id} what="removed" row={old(id) ?? seenRow(id) ?? null} old={undefined} />
      ))}
    </ul>
  );
}

const FIELDS: readonly (readonly [string, (row: Row) => string])[] = [
  ['time', ({ start, end }) => `${sayMoment(start)} – ${sayTime(end)}`],
  ['title', ({ title }) => title],
  ['room', ({ room }) => room?.name ?? ''],
  ['lecturer', ({ lecturer }) => lecturer?.name ?? ''],
  ['group', ({ group }) => group?.name ?? ''],
  ['kind', ({ kind }) => kind],
];

function ChangeLine({
  what,
  row,
  old,
}: {
  readonly what: 'added' | 'changed' | 'removed';
  readonly row: Row | null;
  readonly old: Row | undefined;
}): JSX.Element {
  return (
    <li class="change" data-what={what} data-kind={colourOf(row?.kind ?? '')}>
      <span class="change-what">{say(what)}</span>
      {row !== null && (
        <span class="change-fields">
          {FIELDS.map(([name, textOf]) => {
            const [text, was] = [textOf(row), old === undefined ? null : textOf(old)];
            if (text === '' && (was === null || was === '')) return null;
            return (
              <span key={name} data-field={name}>
                {was !== null && was !== text && (
                  <>
                    <span class="hidden">{say('before')}: </span>
                    <del>
                      <Text>{was || '–'}</Text>
                    </del>{' '}
                    <span class="hidden">{say('after')}: </span>
                  </>
                )}
                {was !== null && was !== text ? (
                  <ins>
                    <Text>{text || '–'}</Text>
                  </ins>
                ) : (
                  <Text>{text}</Text>
                )}
              </span>
            );
          })}
        </span>
      )}
    </li>
  );
}
