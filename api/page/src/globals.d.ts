/** Whether this is built for the service; a page of its own leaves out what only the service has. */
declare const SERVED: boolean;
