package io.tenure.spring.boot;

import io.tenure.client.TenureClient;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.health.autoconfigure.contributor.ConditionalOnEnabledHealthIndicator;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** Whether the service can be reached, where there is the Actuator. One of the two lines of Spring Boot has its classes. */
@AutoConfiguration(after = TenureAutoConfiguration.class)
public class TenureHealthAutoConfiguration {
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass({HealthIndicator.class, ConditionalOnEnabledHealthIndicator.class})
    @ConditionalOnEnabledHealthIndicator("tenure")
    static class Boot4 {
        @Bean
        HealthIndicator tenureHealthIndicator(TenureClient client, Elections elections) {
            return new Boot4HealthIndicator(new HealthCheck(client, elections));
        }
    }

    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass({
        org.springframework.boot.actuate.health.HealthIndicator.class,
        org.springframework.boot.actuate.autoconfigure.health.ConditionalOnEnabledHealthIndicator.class
    })
    @org.springframework.boot.actuate.autoconfigure.health.ConditionalOnEnabledHealthIndicator("tenure")
    static class Boot3 {
        @Bean
        org.springframework.boot.actuate.health.HealthIndicator tenureHealthIndicator(
                TenureClient client, Elections elections) {
            return new Boot3HealthIndicator(new HealthCheck(client, elections));
        }
    }
}
