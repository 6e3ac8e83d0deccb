/** What is shown while no timetable is chosen. */
import type { JSX } from 'preact';
import { KINDS } from '../address.js';
import { focusFind, kindWord } from '../find.js';
import { Icon } from '../parts.js';
import { say } from '../speak.js';
import { choose, keyOf, readRecent } from '../targets.js';

export function Start(): JSX.Element {
  const recent = readRecent();
  return (
    <section class="start">
      <h1>{say('startTitle')}</h1>
      <p>{say('startHelp')}</p>
      <button type="button" class="button primary" onClick={focusFind}>
        <Icon name="search" /> {say('find')}
      </button>
      <ul class="start-kinds" aria-hidden="true">
        {KINDS.map((kind) => (
          <li key={kind}>
            <Icon name={kind} /> {kindWord(kind)}
          </li>
        ))}
      </ul>
      {recent.length > 0 && (
        <>
          <h2>{say('recent')}</h2>
          <ul class="recent">
            {recent.map((each) => (
              <li key={keyOf(each)}>
                <button type="button" class="button" onClick={() => choose(each, each.name)}>
                  <Icon name={each.kind} /> <bdi>{each.name}</bdi>
                </button>
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}
