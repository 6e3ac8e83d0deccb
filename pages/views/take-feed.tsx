/** Taking the timetable of a feed along: its own address, which the person has already. */
import type { JSX } from 'preact';
import { say } from '../speak.js';
import type { Feed } from '../store.js';
import { FeedAddress, PrintPart } from './take.js';

export function TakeFeed({ feed }: { readonly feed: Feed }): JSX.Element {
  return (
    <section class="take card" aria-label={say('takeTitle')}>
      <div>
        <h3>{say('subscribe')}</h3>
        <p class="muted">{say('subscribeHelp')}</p>
        <FeedAddress url={feed.calendar} webcal={feed.calendar.replace(/^https?:/, 'webcal:')} />
      </div>
      <div>
        <h3>{say('download')}</h3>
        <div class="row">
          <a class="button" href={feed.calendar} download="timetable.ics">
            {say('downloadIcs')}
          </a>
          <a class="button" href={feed.table} download="timetable.csv">
            {say('downloadCsv')}
          </a>
        </div>
      </div>
      <PrintPart />
    </section>
  );
}
