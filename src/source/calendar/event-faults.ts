import type { CalendarEvent, EventFault } from './calendar-event.js';
import { faultOf } from './calendar-event.js';
import { parseDuration } from './calendar-time.js';
import { type CalendarScope, durationFault, isFault, type Moment, momentOf } from './event-timing.js';
import { parseRule } from './recurrence-rule.js';

const RULE_UNITS_SHOWN = 80;
/** A record has at most as many faults as fields. */
const FAULTS_MAX = 8;

/** The fault of a rule. @param problem a clause, such as "it has no FREQ" */
export function ruleFault(name: 'RRULE' | 'EXRULE', text: string, problem: string): EventFault {
  const shown = JSON.stringify(text.slice(0, RULE_UNITS_SHOWN));
  return faultOf('malformed-recurrence', null, `${name} ${shown} cannot be followed: ${problem}`);
}

/** Adds the other faults of the event's times and rules to a fault. */
export function withOthers(fault: EventFault, event: CalendarEvent, scope: CalendarScope): EventFault {
  const others = [...timeFaults(event, scope), ...ruleFaults(event)].filter(
    ({ detail }) => detail !== fault.detail,
  );
  return others.length === 0 ? fault : { ...fault, more: others.slice(0, FAULTS_MAX) };
}

function timeFaults({ start, end, duration }: CalendarEvent, scope: CalendarScope): EventFault[] {
  const faults: EventFault[] = [];
  let zone: Moment['zone'] = null;
  for (const [name, field, given] of [
    ['DTSTART', 'time', start],
    ['DTEND', 'endTime', end],
  ] as const) {
    if (given === null) continue;
    const moment = momentOf(given, name, field, scope, zone);
    if (isFault(moment)) faults.push(moment);
    else zone = moment.zone;
  }
  if (end !== null || duration === null) return faults;
  const length = parseDuration(duration.trim());
  return typeof length === 'string' ? [...faults, durationFault(duration, length)] : faults;
}

function ruleFaults({ rules, excludedRules }: CalendarEvent): EventFault[] {
  const all = [
    ...rules.map((text) => ['RRULE', text] as const),
    ...excludedRules.map((text) => ['EXRULE', text] as const),
  ];
  return all.flatMap(([name, text]) => {
    const rule = parseRule(text);
    return typeof rule === 'string' ? [ruleFault(name, text, rule)] : [];
  });
}
