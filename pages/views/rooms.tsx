/** All rooms, also those without lessons, and the fields that choose some of them. */
import type { JSX } from 'preact';
import { type RoomFacts, readNames, useLoaded } from '../data.js';
import { say } from '../speak.js';
import { address, setMore } from '../store.js';

/** The rooms of the building and for the number of people in the address. */
export async function readWantedRooms(): Promise<readonly RoomFacts[]> {
  const { building, seats } = address.peek().more;
  return (await readNames()).allRooms.filter(
    (room) => (!building || room.building === building) && (!seats || (room.capacity ?? -1) >= Number(seats)),
  );
}

/** The same as texts. */
export function wantedRoomTexts(): readonly string[] {
  const { building, seats } = address.value.more;
  return [
    ...(building ? [`${say('building')}: ${building}`] : []),
    ...(seats ? [`${say('seatsMin')}: ${seats}`] : []),
  ];
}

/** Nothing where no rooms file names buildings. */
export function BuildingField(): JSX.Element | null {
  const { more } = address.value;
  const { data: names } = useLoaded('names', readNames);
  const known = new Set((names?.allRooms ?? []).flatMap(({ building }) => building ?? []));
  if (more.building) known.add(more.building);
  if (known.size === 0) return null;
  return (
    <label>
      {say('building')}
      <select
        value={more.building ?? ''}
        onChange={(event) => setMore({ building: event.currentTarget.value })}
      >
        <option value="">{say('allBuildings')}</option>
        {[...known].sort().map((each) => (
          <option key={each}>{each}</option>
        ))}
      </select>
    </label>
  );
}

export function SeatsField(): JSX.Element {
  const { more } = address.value;
  return (
    <label>
      {say('seatsMin')}
      <input
        type="number"
        min="1"
        max="100000"
        inputMode="numeric"
        class="seats"
        value={more.seats ?? ''}
        onInput={(event) => setMore({ seats: event.currentTarget.value })}
      />
    </label>
  );
}
