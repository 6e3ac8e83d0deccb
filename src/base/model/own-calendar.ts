/** What Lectern knows its own calendars by, and reads them by without loss. */

/** PRODID. A program that saves a changed calendar writes its own. */
export const OWN_CALENDAR = '-//Lectern//Lectern//EN';

/** The property of an event of the VEVENT as JSON. */
export const OWN_RECORD = 'X-LECTERN-EVENT';
