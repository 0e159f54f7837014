package io.tenure.spring.boot;

import io.micrometer.core.instrument.MeterRegistry;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.context.annotation.Bean;

/** Metrics of annotated methods, where there is Micrometer: see {@link MicrometerObserver}. */
@AutoConfiguration(
        // Where the registry is made: in Spring Boot 4, and in 3. The other name is ignored.
        afterName = {
            "org.springframework.boot.micrometer.metrics.autoconfigure.CompositeMeterRegistryAutoConfiguration",
            "org.springframework.boot.actuate.autoconfigure.metrics.CompositeMeterRegistryAutoConfiguration"
        })
@ConditionalOnClass(MeterRegistry.class)
@ConditionalOnBean(MeterRegistry.class)
public class TenureMetricsAutoConfiguration {
    @Bean
    TenureObserver tenureMicrometerObserver(MeterRegistry registry) {
        return new MicrometerObserver(registry);
    }
}
