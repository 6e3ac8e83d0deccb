/** Event fields, and the column of iCalendar that each is by default. Times and `id` come as the service writes them. */
export const CALENDAR_FIELD_MAP: Readonly<Record<string, string>> = {
  id: 'id',
  time: 'DTSTART',
  endTime: 'DTEND',
  title: 'SUMMARY',
  roomId: 'LOCATION',
  roomName: 'LOCATION',
  studyGroup: 'X-WR-CALNAME',
  /** ORGANIZER, or else the first ATTENDEE. */
  lecturer: 'PERSON',
  type: 'CATEGORIES',
};
