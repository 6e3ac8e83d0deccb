/** All rooms, also those without lessons, and the fields that choose some of them. */
import type { JSX } from 'preact';
import { client, perRevision, readNames, shortId, useLoaded } from '../data.js';
import { say } from '../speak.js';
import { address, setMore } from '../store.js';

export interface RoomFacts {
  readonly id: string;
  readonly name: string;
  readonly building: string | null;
  readonly capacity: number | null;
}

/** Before all lessons every room has nothing scheduled, so this lists all of them, with those of the rooms file. */
const BEFORE_ALL = {
  by: 'room',
  startTime: '1900-01-01T00:00:00Z',
  endTime: '1900-01-01T01:00:00Z',
} as const;

export const readAllRooms: () => Promise<readonly RoomFacts[]> = perRevision(async () => {
  const [{ data }, names] = await Promise.all([client.get('/schedule/free', BEFORE_ALL), readNames()]);
  return data.flatMap(({ id, name, building = null, capacity = null }) =>
    id === null ? [] : [{ id, name: name ?? names.rooms.get(id) ?? shortId(id), building, capacity }],
  );
});

/** The rooms of the building and for the number of people in the address. */
export async function readWantedRooms(): Promise<readonly RoomFacts[]> {
  const { building, seats } = address.peek().more;
  return (await readAllRooms()).filter(
    (room) => (!building || room.building === building) && (!seats || (room.capacity ?? -1) >= Number(seats)),
  );
}

/** Nothing where no rooms file names buildings. */
export function BuildingField(): JSX.Element | null {
  const { more } = address.value;
  const { data: rooms } = useLoaded('rooms', readAllRooms);
  const known = new Set((rooms ?? []).flatMap(({ building }) => building ?? []));
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
