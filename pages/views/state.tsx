/** What an operator wants to see: whether the data is there, what was left out, which sources fail. Development only. */
import type { JSX } from 'preact';
import { client, useLoaded } from '../data.js';
import { Icon, Loading, Problem } from '../parts.js';
import { say, sayAgo, sayMoment, sayNumber } from '../speak.js';
import { now } from '../store.js';

const STATUS_TEXTS = { ok: 'stateOk', degraded: 'stateDegraded', starting: 'stateStarting' } as const;

export function State(): JSX.Element {
  const minute = Math.floor(now.value / 60_000);
  const { data, error } = useLoaded(`state ${minute}`, () => client.health());
  document.title = `${say('stateTitle')} · ${say('appName')}`;
  if (error !== null) return <Problem error={error} />;
  if (data === null) return <Loading />;
  const { snapshot, source, status, version } = data;
  const moment = (text: string | null): JSX.Element | null => {
    if (text === null) return null;
    const instant = Date.parse(text);
    return <span title={sayMoment(instant)}>{sayAgo(instant, Math.max(now.value, instant))}</span>;
  };
  const rejected = snapshot?.rejected ?? 0;
  const facts: readonly (readonly [string, JSX.Element | string | null, boolean?])[] = [
    [say('events'), snapshot && sayNumber(snapshot.events)],
    [
      say('leftOut'),
      snapshot && (rejected > 0 ? say('leftOutRecords', { n: rejected }) : say('noneLeftOut')),
      rejected > 0,
    ],
    [say('builtAt'), moment(snapshot?.builtAt ?? null)],
    [say('lastSuccess'), moment(source.lastSuccess)],
    [say('failingSince'), moment(source.failingSince), true],
    [say('lastError'), source.lastError ?? data.snapshotFileError, true],
  ];
  return (
    <div class="body state" aria-busy="false">
      <div class="toolbar">
        <h1 class="whose">{say('stateTitle')}</h1>
        <a class="button" href="docs">
          {say('apiDocs')}
        </a>
      </div>
      <div class="card state-status" data-status={status}>
        <Icon name={status === 'ok' ? 'state' : 'warning'} />
        <strong>{say(STATUS_TEXTS[status])}</strong>
        <span>
          {say('version')} {version}
        </span>
      </div>
      <dl class="facts">
        {facts
          .filter(([, value]) => value !== null)
          .map(([name, value, isBad = false]) => (
            <div key={name} class="card" data-bad={isBad || undefined}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
      </dl>
      {data.leftOut.length > 0 && (
        <ul class="rejections">
          {data.leftOut.map(({ code, count, samples }) => (
            <li key={code} class="card" style={{ '--share': count / rejected }}>
              <h2>
                {sayNumber(count)} <code>{code}</code>
              </h2>
              <div class="rejections-share" aria-hidden="true" />
              <ul>
                {samples.map((sample) => (
                  <li key={sample}>
                    <bdi>{sample}</bdi>
                  </li>
                ))}
              </ul>
            </li>
          ))}
        </ul>
      )}
      {data.unserved.length > 0 && (
        <p class="notice">
          {say('unserved')}{' '}
          {data.unserved
            .map(({ name, suggestion }) => (suggestion === null ? name : `${name} (${suggestion}?)`))
            .join(', ')}
        </p>
      )}
      {source.parts !== null && (
        <>
          <h2>{say('sources')}</h2>
          <div class="wide" role="region" aria-label={say('sources')} tabIndex={0}>
            <table class="sources">
              <thead>
                <tr>
                  <th scope="col">{say('source')}</th>
                  <th scope="col">{say('state')}</th>
                  <th scope="col">{say('records')}</th>
                  <th scope="col">{say('lastSuccess')}</th>
                  <th scope="col">{say('lastError')}</th>
                </tr>
              </thead>
              <tbody>
                {source.parts.listed.map((part) => (
                  <tr key={part.name} data-state={part.state}>
                    <th scope="row">
                      <bdi>{part.name}</bdi>
                    </th>
                    <td>{part.state}</td>
                    <td>{sayNumber(part.records)}</td>
                    <td>{moment(part.lastSuccess)}</td>
                    <td>{part.lastError}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </>
      )}
    </div>
  );
}
