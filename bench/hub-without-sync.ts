/** A hub over a disk that keeps no promise: the difference to the real one is what the syncs cost. */
import { hubOver } from './hub-over.ts'

await hubOver({ sync: (_fd, done) => done(null), syncNow: () => {} })
