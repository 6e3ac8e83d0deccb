/** Loaded into a service before it starts (`--import`): tells what its threads have used of the processor when it is asked. */
process.on('message', () => process.send(process.cpuUsage()));
