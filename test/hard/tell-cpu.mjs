/** Loaded into a service before it starts (`--import`): reports the processor time of its threads on request. */
process.on('message', () => process.send(process.cpuUsage()));
