/** The default iCalendar column of each event field. Times and `id` already have the service's form. */
export const CALENDAR_FIELD_MAP: Readonly<Record<string, string>> = {
  id: 'id',
  time: 'DTSTART',
  endTime: 'DTEND',
  title: 'SUMMARY',
  roomId: 'LOCATION',
  roomName: 'LOCATION',
  studyGroup: 'X-WR-CALNAME',
  /** ORGANIZER, or the first ATTENDEE if there is no ORGANIZER. */
  lecturer: 'PERSON',
  type: 'CATEGORIES',
};
